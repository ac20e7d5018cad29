/** The field Host of a request (RFC 9112 section 3.2): one that names a host, or two servers would read it differently. */
import type { IncomingMessage } from 'node:http'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal } from '../../../../base/mail/refusal.js'

/**
 * `uri-host [ ":" port ]` (RFC 3986 section 3.2.2): an address in brackets, or a name or IPv4 address. It may be empty.
 */
const hostForm = /^(?:\[[\w:.~!$&'()*+,;=-]{1,255}\]|[\w.~!$&'()*+,;=%-]{0,255})(?::\d{0,5})?$/

/** Throws a Refusal `invalid-parameter`. HTTP/1.0 does not require the field. */
export function requireHost({ headers: { host }, rawHeaders, httpVersionMinor }: IncomingMessage): void {
  if (host === undefined && httpVersionMinor === 0) return
  if (host === undefined) throw new Refusal('invalid-parameter', 'Host: is required', { field: 'Host' })
  if (!hostForm.test(host)) {
    const details = { field: 'Host', value: formatForDisplay(host) }
    throw new Refusal('invalid-parameter', 'Host: must be one host, with a port or without', details)
  }
  if (countFields(rawHeaders) > 1) throw new Refusal('invalid-parameter', 'Host: is given twice', { field: 'Host' })
}

/** Node.js keeps the first field of that name and drops the others. `rawHeaders` has names and values in turn. */
function countFields(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}
