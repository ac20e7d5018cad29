/** The notice that a certificate of the service expires and was not renewed, to the administrators of the operator. */
import { administratorsOf } from '../accounts/people/members.js'
import type { ExpiryWarning } from '../certificates/expiry-watch.js'
import type { ServiceNotice, ServiceSender } from '../messages/service-email.js'
import type { Read } from '../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import { isSuppressed } from '../suppressions/suppressions.js'
import { composeNotice, formatTime, type Piece, toOneLine } from './notice-mail.js'

/** Ready to be committed; none to an address from which mail of the service bounced. */
export function composeCertificateNotices(
  deps: ServiceSender & { readonly read: Read },
  workspaceId: string,
  warning: ExpiryWarning,
  now: number,
): readonly ServiceNotice[] {
  const { read } = deps
  const name = toOneLine(warning.name)
  const subject = `The certificate of ${name} expires on ${formatTime(warning.expiresAt)}`
  const pieces = buildPieces({ ...warning, name })
  return administratorsOf(read, { workspaceId })
    .filter(({ email }) => !isSuppressed(read, SERVICE_WORKSPACE, email))
    .map(({ email }) => composeNotice(deps, { to: email, subject, pieces }, now))
}

function buildPieces({ name, expiresAt, fault }: ExpiryWarning): readonly Piece[] {
  const reason: readonly Piece[] =
    fault === null ? [] : [{ kind: 'text', text: `The last try failed: ${toOneLine(fault)}` }]
  return [
    {
      kind: 'text',
      text:
        `The certificate that this mail server serves for ${name} is valid until ${formatTime(expiresAt)}, and it was ` +
        'not renewed. After that time clients refuse to connect to this name.',
    },
    ...reason,
    { kind: 'text', text: 'The state of all certificates, and a renewal at once:' },
    { kind: 'list', lines: ['posthorn certificates', `posthorn certificates renew ${name}`] },
    {
      kind: 'text',
      text: 'A certificate that you put into tls.cert_file is renewed by you; "posthorn reload" loads it.',
    },
    { kind: 'text', text: 'This notice is sent every three days until there is a new certificate.' },
  ]
}
