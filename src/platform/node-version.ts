/**
 * Which versions of Node.js the program cannot run on.
 *
 * From 24.19 on the headers of Node.js let an object that an addon wraps (node::ObjectWrap) ask for its
 * environment when it is collected as garbage, and the process is aborted where there is none. SQLite's binding
 * (better-sqlite3 12) wraps its objects so; its version 13 does not, and asks for Node.js 22.
 */

/** Why not, for an operator; null: it can. `version`: as `process.version`. */
export function checkNodeVersion(version: string): string | null {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  if (major < 24 || (major === 24 && minor < 19)) return null
  return `Node.js ${version} aborts with the SQLite binding of this version, at a moment that cannot be foreseen: use Node.js 22, or 24.18`
}
