/**
 * The versions of Node.js that the program cannot run on.
 *
 * From 24.19 on, an object wrapped by an addon (node::ObjectWrap) asks for its environment when it is collected
 * as garbage, and the process aborts if there is none. The SQLite binding better-sqlite3 12 wraps its objects
 * this way; version 13 does not, and requires Node.js 22.
 */

/** Why the program cannot run, for an operator; null: it can. `version`: as `process.version`. */
export function checkNodeVersion(version: string): string | null {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  if (major < 24 || (major === 24 && minor < 19)) return null
  return `Node.js ${version} aborts with the SQLite binding of this version, at a moment that cannot be foreseen: use Node.js 22, or 24.18`
}
