/** The versions of Node.js that the program runs on: 22.14 and later, 24 and 26. The binary of SQLite needs their Node-API 10. */

const OLDEST = [22, 14] as const

/** Why the program cannot run, for an operator. Null if it can. `version` has the form of `process.version`. */
export function checkNodeVersion(version: string): string | null {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null
  return `Node.js ${version} is too old: use Node.js ${OLDEST.join('.')} or later, 24 or 26`
}
