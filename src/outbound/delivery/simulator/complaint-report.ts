/**
 * Builds a complaint about a message that went to `complaint@` of the simulator: an abuse report (ARF, RFC 5965) at our
 * feedback address, as a provider would send it.
 *
 * The commit of the delivery stores it as a report that has come in and waits to be read, so it survives a crash. The
 * processor of inbound mail reads it within about a second.
 */
import { createHash } from 'node:crypto'
import { type Address, parseAddress } from '../../../base/mail/address.js'
import { formatMessageDate } from '../../../base/mail/message-date.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Write } from '../../../base/storage/db/write.js'
import { toJson } from '../../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { storeInbound } from '../../../records/messages/inbound/inbound-email.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'

interface ReportSender {
  readonly hostname: string
  readonly zone: string
}

/** The most bytes of the message's header that the report returns. */
const MAX_RETURNED_HEADER = 16_384

export function storeComplaint(
  message: Pick<OutboundMessage, 'returnPath' | 'recipient' | 'pieces'>,
  sender: ReportSender,
  now: number,
): Write[] {
  const to = parseAddress(`fbl@${sender.zone}`)
  const raw = buildComplaintReport(message, { ...sender, to }, now)
  const record = {
    id: uuidv7(now),
    kind: 'report',
    workspace_id: SERVICE_WORKSPACE,
    domain: '',
    envelope_from: '',
    envelope_to: toJson([to]),
    client_address: '127.0.0.1',
    helo: sender.hostname,
    spf_result: 'neutral',
    dkim_result: 'none',
    dmarc_result: 'none',
    authentication: toJson({}),
    arrival: { earlyTalker: false, listings: [], allowListings: [], spamReason: null },
    received_at: now,
  } as const
  return storeInbound(record, raw)
}

function buildComplaintReport(
  { returnPath, recipient, pieces }: Pick<OutboundMessage, 'returnPath' | 'recipient' | 'pieces'>,
  { hostname, zone, to }: ReportSender & { readonly to: Address },
  now: number,
): Buffer {
  const header = readHeader(pieces)
  const boundary = `=_${createHash('sha256').update(returnPath).update(String(now)).digest('hex').slice(0, 32)}`
  const lines = [
    `From: simulator@${hostname}`,
    `To: ${to}`,
    'Subject: complaint about a message, by the simulator',
    `Date: ${formatMessageDate(now)}`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=feedback-report; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'A recipient of the simulator has marked the message as spam.',
    `--${boundary}`,
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    `User-Agent: simulator.${zone}/1`,
    'Version: 1',
    `Original-Mail-From: <${returnPath}>`,
    `Original-Rcpt-To: <${recipient}>`,
    `--${boundary}`,
    'Content-Type: text/rfc822-headers',
    '',
    '',
  ]
  return Buffer.concat([Buffer.from(lines.join('\r\n')), header, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

/** Reads the first lines of the message, without its body. */
function readHeader(pieces: readonly Buffer[]): Buffer {
  const start: Buffer[] = []
  let size = 0
  for (const piece of pieces) {
    if (size >= MAX_RETURNED_HEADER) break
    start.push(piece.subarray(0, MAX_RETURNED_HEADER - size))
    size += piece.length
  }
  const bytes = Buffer.concat(start)
  const end = bytes.indexOf('\r\n\r\n')
  return end === -1 ? bytes : bytes.subarray(0, end + 2)
}
