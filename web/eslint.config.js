import svelte from 'eslint-plugin-svelte'
import globals from 'globals'
import ts from 'typescript-eslint'

const BY_THE_SDK = "Requests and streams are the SDK's: use `api`, and add to the SDK what it lacks."
const CONNECTIONS = ['fetch', 'EventSource', 'WebSocket', 'XMLHttpRequest']
const GLOBAL_OBJECTS = ['globalThis', 'window', 'self']
const ROUTES = [
  'Literal[value=/[/]api[/]/]',
  'TemplateElement[value.raw=/[/]api[/]/]',
  'SvelteLiteral[value=/[/]api[/]/]',
]

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
  {
    // The workbench knows neither a route nor a connection of its own.
    files: ['src/**'],
    rules: {
      'no-restricted-globals': ['error', ...CONNECTIONS.map((name) => ({ name, message: BY_THE_SDK }))],
      'no-restricted-properties': [
        'error',
        ...GLOBAL_OBJECTS.flatMap((object) =>
          CONNECTIONS.map((property) => ({ object, property, message: BY_THE_SDK })),
        ),
      ],
      'no-restricted-syntax': ['error', ...ROUTES.map((selector) => ({ selector, message: BY_THE_SDK }))],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: ['**/sdk/**', 'turnloom/*', '!turnloom/worker'], message: 'Use what the SDK gives to everybody.' },
          ],
        },
      ],
    },
  },
)
