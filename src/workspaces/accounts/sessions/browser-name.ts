/** Names a browser and its system from a User-Agent field, so that people recognise their own. */

/** The first entry that the field contains counts, because later ones also have the names of their ancestors. */
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** The result contains no text of the field, because its sender chose that. */
export function describeBrowser(userAgent: string): string {
  const find = (names: readonly (readonly [part: string, name: string])[]): string | undefined =>
    names.find(([part]) => userAgent.includes(part))?.[1]
  const [browser, system] = [find(browsers), find(systems)]
  if (browser === undefined) return 'Unknown browser'
  return system === undefined ? browser : `${browser} on ${system}`
}
