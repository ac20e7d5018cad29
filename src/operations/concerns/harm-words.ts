/** Tells what a fault that a check found does to mail, in plain words. Pure. */

const REFUSED = 'Other servers may refuse your mail'
const STOPPED = 'The server may stop accepting mail'
const UNTRUSTED = 'Programs and browsers may refuse to connect'
const LOST = 'A broken disk may lose data'

const harms: Readonly<Record<string, string>> = {
  ...{ ptr: REFUSED, helo: REFUSED, blocklist: REFUSED, spf: REFUSED, dkim: REFUSED, dmarc: REFUSED },
  ...{ zone: REFUSED, delegation: REFUSED, 'service-dkim': REFUSED },
  'port25-out': 'Your mail may not leave this server',
  'port25-in': 'Bounces and received mail may not arrive',
  mx: 'Received mail may not arrive',
  'mta-sts': 'Received mail may not arrive',
  dnssec: 'Your mail travels with less protection',
  ...{ tls: UNTRUSTED, 'tls-served': UNTRUSTED, acme: UNTRUSTED },
  ...{ disk: STOPPED, inodes: STOPPED, files: STOPPED },
  ...{ backup: LOST, standby: LOST },
}

/** Begins the title of a fault with its harm, if there are words for the harm. */
export function tellHarm(check: string, title: string): string {
  const harm = harms[check]
  return harm === undefined ? title : `${harm}: ${title}`
}
