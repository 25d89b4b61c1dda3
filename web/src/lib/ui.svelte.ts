// What floats above the page, and small things that far parts of it tell each other.

class Ui {
  palette = $state(false)
  help = $state(false)
  /** Everything that runs is shown. */
  tasks = $state(false)
  /** There was something to say about what happened elsewhere. */
  toasts = $state(false)
  signedOut = $state(false)
  /** Text to put into the composer, from elsewhere in the page. */
  suggestion = $state<string>()
}

export const ui = new Ui()
