/** The notice that certificates of the service expire and were not renewed, to the administrators of the operator. */

import { toOneLine } from '../../base/mail/printable.js'
import { filterAsync } from '../../base/platform/async-filter.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { ServiceNotice, ServiceSender } from '../../records/messages/service-email.js'
import { isSuppressed } from '../../records/suppressions/suppressions.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import type { ExpiryWarning } from '../certificates/expiry-watch.js'
import { composeNotice, formatTime, type Piece } from './notice-mail.js'

/** Where the certificate comes from, which decides how it is renewed. */
export type CertificateOrigin = 'acme' | 'files' | 'self-signed'

interface NoticeDeps extends ServiceSender {
  readonly read: Read
  readonly origin: CertificateOrigin
}

/** Ready to be committed; none to an address from which mail of the service bounced. */
export async function composeCertificateNotices(
  deps: NoticeDeps,
  workspaceId: string,
  warnings: readonly ExpiryWarning[],
  now: number,
): Promise<readonly ServiceNotice[]> {
  const { read, origin } = deps
  const [first] = warnings
  if (first === undefined) return []
  const [name, time] = [toOneLine(first.name), formatTime(first.expiresAt)]
  const isOne = warnings.length === 1
  const subject = isOne
    ? `The certificate of ${name} expires on ${time}`
    : `${warnings.length} certificates expire, the first on ${time}`
  const pieces = isOne ? buildPieces({ ...first, name }, origin) : buildListPieces(warnings)
  const administrators = await administratorsOf(read, { workspaceId })
  const reached = await filterAsync(
    administrators,
    async ({ email }) => !(await isSuppressed(read, SERVICE_WORKSPACE, email)),
  )
  return reached.map(({ email }) => composeNotice(deps, { to: email, subject, pieces }, now))
}

/** Names that a notice lists. */
const MAX_NAMES = 20

/** Builds the list of several certificates, which only ACME orders. */
function buildListPieces(warnings: readonly ExpiryWarning[]): readonly Piece[] {
  const lines = warnings.slice(0, MAX_NAMES).map(({ name, expiresAt, fault }) => {
    const reason = fault === null ? '' : `; the last try failed: ${toOneLine(fault)}`
    return `${toOneLine(name)} expires on ${formatTime(expiresAt)}${reason}`
  })
  const more = warnings.length - lines.length
  return [
    {
      kind: 'text',
      text:
        `This mail server has not renewed ${warnings.length} of its certificates. When they have expired, clients refuse to ` +
        'connect to these names:',
    },
    { kind: 'list', lines: more === 0 ? lines : [...lines, `and ${more} more`] },
    ...buildRenewal('NAME', 'acme'),
    { kind: 'text', text: REPETITION },
  ]
}

const REPETITION = 'The server repeats this notice every three days until the certificate is renewed.'

function buildPieces({ name, expiresAt, fault }: ExpiryWarning, origin: CertificateOrigin): readonly Piece[] {
  const reason: readonly Piece[] =
    fault === null ? [] : [{ kind: 'text', text: `The last try failed: ${toOneLine(fault)}` }]
  return [
    {
      kind: 'text',
      text:
        `The certificate that this mail server uses for ${name} expires on ${formatTime(expiresAt)} and has not been ` +
        'renewed. When it has expired, clients refuse to connect to this name.',
    },
    ...reason,
    ...buildRenewal(name, origin),
    { kind: 'text', text: REPETITION },
  ]
}

function buildRenewal(name: string, origin: CertificateOrigin): readonly Piece[] {
  const renewals: Readonly<Record<CertificateOrigin, readonly [text: string, lines: readonly string[]]>> = {
    acme: [
      'These commands show the state of all certificates and renew a certificate at once:',
      ['posthorn certificates', `posthorn certificates renew ${name}`],
    ],
    files: [
      'Replace the files of tls.cert_file and tls.key_file. Then this command makes the daemon load them:',
      ['posthorn reload'],
    ],
    'self-signed': [
      'The certificate is self-signed. This command makes a new one, which your clients then have to trust:',
      ['posthorn reload'],
    ],
  }
  const [text, lines] = renewals[origin]
  return [
    { kind: 'text', text },
    { kind: 'list', lines },
  ]
}
