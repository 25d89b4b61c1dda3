import svelte from 'eslint-plugin-svelte'
import globals from 'globals'
import ts from 'typescript-eslint'

export default ts.config(
  { ignores: ['node_modules/'] },
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  { files: ['**/*.svelte', '**/*.svelte.ts'], languageOptions: { parserOptions: { parser: ts.parser } } },
  {
    rules: {
      // A message is never markup: nothing may reach the page as HTML.
      'svelte/no-at-html-tags': 'error',
      // Views are plain JSON: removing a field is removing a key.
      '@typescript-eslint/no-dynamic-delete': 'off',
      // Short-lived sets, maps and dates that nothing in the page follows.
      'svelte/prefer-svelte-reactivity': 'off',
      // The router is a hash; there is no framework to resolve addresses for.
      'svelte/no-navigation-without-resolve': 'off',
    },
  },
)
