/**
 * Arguments for `env` to run Node.js as it runs outside of tests. The test runner makes Node.js load a module of its
 * own into every child, which writes a file at the end: as the user of the child, and within its limits.
 */
export function plainNode(...words: readonly string[]): string[] {
  return ['-u', 'NODE_OPTIONS', process.execPath, ...words]
}
