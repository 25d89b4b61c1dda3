import globals from 'globals'
import ts from 'typescript-eslint'

// The rules are those of the workbench.
export default ts.config(
  { ignores: ['dist/', 'node_modules/', 'src/generated/'] },
  ...ts.configs.strict,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  // Views are plain JSON: removing a field is removing a key.
  { rules: { '@typescript-eslint/no-dynamic-delete': 'off' } },
)
