/** A message that is stored with its results, or without them, or not at all: with the bytes that it had, whatever their size. */
import t, { type Test } from 'tap'
import { type Address, parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import type { Authentication } from '../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { BytePieces } from '../../../src/base/platform/memory/byte-pieces.js'
import { MessageBytes } from '../../../src/base/storage/db/message-bytes.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { buildCopy, storeCopies } from '../../../src/inbound/receiving/inbound-copies.js'
import type { ProcessedMail } from '../../../src/inbound/receiving/mail-processor.js'
import { readInboundRaw } from '../../../src/records/messages/inbound/inbound-email.js'
import { requireRoom } from '../../../src/workspaces/accounts/limits/inbound-bytes.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const authentication: Authentication = {
  spf: { result: 'none', identity: 'helo', domain: '', reason: null, explanation: null },
  dkim: [],
  dmarc: { result: 'none', domain: null, policyDomain: null, policy: null, disposition: 'none', reason: null },
  arc: { result: 'none', reason: null },
  iprev: { result: 'fail', name: null },
  fromFields: 1,
}

/** In memory as a listener collects it. */
function received(size: number): Buffer {
  const pieces = new BytePieces()
  const text = Buffer.from('From: x@b.test\r\n\r\n')
  pieces.add(Buffer.concat([text, Buffer.alloc(size - text.length, 'a')]))
  return pieces.join()
}

function copyOf(raw: Buffer) {
  const address = parseAddress('a@home.test')
  const client = { session: 's', address: '192.0.2.1', port: 1, helo: 'h.test', earlyTalker: false }
  const message = {
    ...{
      envelopeFrom: '',
      recipients: [address] as [Address],
      bytes: MessageBytes.lent(raw),
      header: scanHeader(raw),
      tls: null,
      protocol: 'ESMTP',
    },
    ...{ client: { ...client, listings: [], allowListings: [] }, smtputf8: false },
  } as const
  const trace = {
    ...{ returnPath: '', helo: 'h.test', address: '192.0.2.1', hostname: 'mx.test', protocol: 'ESMTP', tls: null },
    ...{ now: 1000, id: 'x', recipient: address },
  } as const
  const destination = { kind: 'mail', workspaceId: 'ws_1', domain: parseDomainName('home.test'), addresses: [address] }
  const arrival = { earlyTalker: false, listings: [], allowListings: [], spamReason: null }
  const checked = { authentication, authenticationJson: toJson(authentication) }
  const source = { destination, message, trace, ...checked, results: [], arrival, form: null }
  return buildCopy(source as Parameters<typeof buildCopy>[0])
}

function processed(writes: readonly Write[] = [], mayBeFiled = true): ProcessedMail {
  const header = { message_id: null, reference_ids: toJson([]), from_email: '', from_name: '', to_emails: toJson([]) }
  const counts = { has_html: 0, has_text: 1, attachment_count: 0 } as const
  const spam = { spam_status: 'clean', spam_score: 0, spam_report: toJson([]) } as const
  const content = { id: 'x', workspace_id: 'ws_1', cc_emails: toJson<string[]>([]), subject: 'x', at: 1001 }
  return { content: { ...content, ...header, ...counts, ...spam }, writes, mayBeFiled, onCommitted: () => undefined }
}

async function store(t: Test, size: number, results: ProcessedMail, limit: number | null = null) {
  const { database } = await temporaryDatabase(t)
  const logged: unknown[] = []
  const log = { info: (line: unknown) => logged.push(line), error: (line: unknown) => logged.push(line) }
  const room = { workspaceId: 'ws_1', owner: 'usr_1', bytes: size, limit: limit ?? 0 }
  const requireInBox = async () => (limit === null ? null : requireRoom(room))
  const deps = { commits: { commit: database.commit }, log, inboundBytes: { requireRoom: requireInBox } }
  const copy = copyOf(received(size))
  const outcome = await storeCopies(deps, [copy], results, 's').catch((error: unknown) => error)
  const [row] = await database.read<{ status: string }>('select status from inbound_emails', [])
  const raw = await readInboundRaw(database.read, { id: 'x', workspaceId: 'ws_1' })
  return { outcome, status: row?.status, bytes: raw?.length, expected: copy.email.size, logged }
}

const missing: Write = { sql: `delete from emails where id = 'gone'`, parameters: [], rows: 1 }
const broken: Write = { sql: `insert into emails (id) values ('incomplete')`, parameters: [] }

for (const size of [1_000, 16_384, 60_000]) {
  t.test(`${size} octets`, async (t) => {
    const together = await store(t, size, processed())
    t.match(together, { outcome: true, status: 'processed', bytes: together.expected })
    for (const write of [missing, broken]) {
      const alone = await store(t, size, processed([write]))
      t.match(alone, { outcome: false, status: 'received', bytes: alone.expected })
      t.equal(alone.logged.length, write === missing ? 0 : 1, 'a fault of ours is logged')
    }
    const secret = await store(t, size, processed([missing], false))
    t.match(secret, { outcome: { kind: 'unavailable' }, status: undefined }, 'nobody may read it unprocessed')
    const full = await store(t, size, processed(), 10)
    t.match(full, { outcome: { kind: 'mailbox-full' }, status: undefined })
  })
}
