/**
 * Recognizes local parts that stand for a function and not for a person: mail to them is read by several people or by
 * none, and is reported as spam more often. Those of RFC 2142, and others that were collected by hand.
 */

const ofRfc2142 =
  'info marketing sales support abuse noc security postmaster hostmaster usenet news webmaster www uucp ftp'
const ofHand =
  'accounts admin administrator all billing careers contact devnull donotreply do-not-reply enquiries everyone feedback ' +
  'hello help helpdesk hr inquiries invoices it jobs legal list mail mailer-daemon no-reply noreply null office orders ' +
  'press privacy registrar root service spam staff subscribe sysadmin team tech undisclosed-recipients unsubscribe'

const roleNames: ReadonlySet<string> = new Set(`${ofRfc2142} ${ofHand}`.split(' '))

/** In any case, with or without `+detail`. */
export function isRoleName(localPart: string): boolean {
  return roleNames.has(localPart.toLowerCase().replace(/\+.*$/s, ''))
}
