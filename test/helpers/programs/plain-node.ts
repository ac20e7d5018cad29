/**
 * What `env` is given to run Node as it runs outside of tests. The test runner has Node load
 * something of its own into every child, which writes a file at the end: as whichever user
 * the child is by then, and with whatever limits it was given.
 */
export function plainNode(...words: readonly string[]): string[] {
  return ['-u', 'NODE_OPTIONS', process.execPath, ...words]
}
