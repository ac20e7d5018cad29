/**
 * Whether a page of somebody else sends the request: a browser says so in `Origin` (RFC 6454).
 *
 * A key must stay on servers. No CORS header ever invites a page, and one that sends a key
 * all the same is refused.
 */
export function isForeignOrigin(origin: string, host: string | undefined, scheme: 'http' | 'https' | null): boolean {
  const [, said, authority] = /^(https?):\/\/([^/?#@]+)$/i.exec(origin) ?? []
  if (said === undefined || authority === undefined || host === undefined) return true
  const spoken = said.toLowerCase()
  if (scheme !== null && scheme !== spoken) return true
  return stripDefaultPort(authority, spoken) !== stripDefaultPort(host, spoken)
}

/** A browser leaves out the port that the scheme has anyway; others name it. */
function stripDefaultPort(authority: string, scheme: string): string {
  return authority.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '')
}
