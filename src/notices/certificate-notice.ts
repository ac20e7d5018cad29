/** The notice that a certificate of the service expires and was not renewed, to the administrators of the operator. */
import { administratorsOf } from '../accounts/people/members.js'
import type { ExpiryWarning } from '../certificates/expiry-watch.js'
import type { ServiceNotice, ServiceSender } from '../messages/service-email.js'
import type { Read } from '../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import { isSuppressed } from '../suppressions/suppressions.js'
import { composeNotice, formatTime, type Piece, toOneLine } from './notice-mail.js'

/** Where the certificate comes from, which decides how it is renewed. */
export type CertificateOrigin = 'acme' | 'files' | 'self-signed'

interface NoticeDeps extends ServiceSender {
  readonly read: Read
  readonly origin: CertificateOrigin
}

/** Ready to be committed; none to an address from which mail of the service bounced. */
export function composeCertificateNotices(
  deps: NoticeDeps,
  workspaceId: string,
  warning: ExpiryWarning,
  now: number,
): readonly ServiceNotice[] {
  const { read, origin } = deps
  const name = toOneLine(warning.name)
  const subject = `The certificate of ${name} expires on ${formatTime(warning.expiresAt)}`
  const pieces = buildPieces({ ...warning, name }, origin)
  return administratorsOf(read, { workspaceId })
    .filter(({ email }) => !isSuppressed(read, SERVICE_WORKSPACE, email))
    .map(({ email }) => composeNotice(deps, { to: email, subject, pieces }, now))
}

function buildPieces({ name, expiresAt, fault }: ExpiryWarning, origin: CertificateOrigin): readonly Piece[] {
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
    ...buildRenewal(name, origin),
    { kind: 'text', text: 'This notice is sent every three days until there is a new certificate.' },
  ]
}

function buildRenewal(name: string, origin: CertificateOrigin): readonly Piece[] {
  const renewals: Readonly<Record<CertificateOrigin, readonly [text: string, lines: readonly string[]]>> = {
    acme: [
      'The state of all certificates, and a renewal at once:',
      ['posthorn certificates', `posthorn certificates renew ${name}`],
    ],
    files: ['Renew the files of tls.cert_file and tls.key_file, then have the daemon load them:', ['posthorn reload']],
    'self-signed': [
      'It is self-signed. A reload makes a new one, which your clients then have to trust:',
      ['posthorn reload'],
    ],
  }
  const [text, lines] = renewals[origin]
  return [
    { kind: 'text', text },
    { kind: 'list', lines },
  ]
}
