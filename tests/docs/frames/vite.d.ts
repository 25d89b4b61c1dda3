// As `vite/client` has it.
declare module '*?sharedworker&url' {
  const address: string
  export default address
}
