/** Stored mail is processed once, whatever it is and whatever fails meanwhile. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { CrashGuard } from '../../../src/inbound/receiving/analysis/crash-guard.js'
import { contentAnalyzer } from '../../../src/inbound/receiving/analysis/inbound-analyzer.js'
import { InboundProcessor, type ProcessorDeps } from '../../../src/inbound/receiving/inbound-processor.js'
import type { MailProcessor } from '../../../src/inbound/receiving/mail-processor.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import { removeInbound, removeInboundRaw, storeInbound } from '../../../src/records/messages/inbound/inbound-email.js'
import { defaultMimeLimits, MimeReader, type RawSource } from '../../../src/records/messages/mime/mime-parts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { fileOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'
import { inboundMail } from '../../helpers/mail/inbound-mail.js'
import { waitUntil } from '../../helpers/wait-until.js'
import { cleanMail, noReports } from './processor-doubles.js'

const text = Buffer.from('From: bob@b.test\r\nSubject: hello\r\n\r\ntext\r\n')

type Process = MailProcessor['process']

const judge: Process = async (email, _raw, summary) => {
  const type = 'webhook.test'
  const { workspace_id: workspaceId } = email
  const event = recordEvent({ workspaceId, type, emailId: null, recipient: null, at: 2000, data: {} })
  return cleanMail(email, summary, [event])
}

interface Fixture {
  readonly database: Database
  readonly processor: InboundProcessor
  readonly errors: string[]
  readonly faults: { commit: boolean; read: boolean }
  readonly file: (id: string, raw?: Buffer, workspaceId?: string) => Promise<void>
  readonly status: (id: string) => Promise<string | undefined>
}

async function fixture(t: Test, deps: Partial<ProcessorDeps> = {}): Promise<Fixture> {
  const { database, file: databaseFile } = await temporaryDatabase(t)
  const errors: string[] = []
  const log = pino({ level: 'error' }, { write: (line) => errors.push(line) })
  const faults = { commit: false, read: false }
  const full = new StorageFault('SQLITE_FULL', 'database or disk is full')
  const limits = { ...defaultMimeLimits, time: 10_000, maxWaiting: 1000, maxWaitingPerWorkspace: 500 }
  const mime = new MimeReader(limits, contentAnalyzer)
  const processor = new InboundProcessor({
    node: database.node.name,
    read: async (sql, parameters) => {
      if (faults.read) throw full
      return database.read(sql, parameters)
    },
    commit: async (writes) => {
      if (faults.commit) throw full
      return database.commit(writes)
    },
    clock: () => 2000,
    log,
    mime,
    crashGuard: new CrashGuard(join(dirname(databaseFile), 'in-hand'), log),
    mail: { process: judge },
    ...noReports,
    ...deps,
  })
  t.teardown(async () => {
    Object.assign(faults, { commit: false, read: false })
    await processor.stop()
    await mime.close()
  })
  return {
    database,
    processor,
    errors,
    faults,
    file: (id, raw = text, workspaceId = 'ws_1') =>
      database.commit(storeInbound(inboundMail({ id, workspace_id: workspaceId }), raw)),
    status: async (id) =>
      (await database.read<{ status: string }>('select status from inbound_emails where id = ?', [id]))[0]?.status,
  }
}

const areProcessed = async (ids: readonly string[], status: Fixture['status']): Promise<boolean> =>
  (await Promise.all(ids.map(status))).every((found) => found === 'processed')

const events = async ({ read }: Database): Promise<number> =>
  (await read<{ n: number }>('select count(*) as n from events', []))[0]?.n ?? -1

t.test('mail that waited before the start and later mail is processed, each message once', async (t) => {
  const { processor, file, status, database, errors } = await fixture(t)
  const early = Array.from({ length: 250 }, (_, n) => `early-${n}`)
  for (const id of early) await file(id)
  processor.start()
  await file('late')
  processor.onStored('ws_1')
  processor.onStored('ws_1')
  await waitUntil('all are processed', () => areProcessed([...early, 'late'], status))
  t.equal(await events(database), 251)
  t.match(await database.read('select subject, has_text from inbound_emails where id = ?', ['late']), [
    { subject: 'hello', has_text: 1 },
  ])
  t.same(errors, [])
})

t.test('a message that cannot be parsed is filed as failed and keeps its bytes; the others go on', async (t) => {
  const { processor, file, status, database } = await fixture(t)
  await file('bomb', Buffer.from(`From: x@b.test\r\nX-Long: ${'x'.repeat(1_100_000)}\r\n\r\na line\r\n`))
  await file('good')
  processor.start()
  await waitUntil(
    'both are over',
    async () => (await status('bomb')) === 'failed' && (await status('good')) === 'processed',
  )
  t.equal((await database.read('select 1 from inbound_raw where inbound_id = ?', ['bomb'])).length, 1)
  t.equal(await events(database), 1)
})

t.test('while the database takes no writes mail waits, and is processed when it does', async (t) => {
  const { processor, file, status, faults, errors, database } = await fixture(t)
  faults.commit = true
  await file('a')
  processor.start()
  await waitUntil('the fault is noticed', () => errors.length > 0)
  t.equal(await status('a'), 'received')
  faults.read = true
  processor.onStored('ws_1')
  Object.assign(faults, { commit: false, read: false })
  await waitUntil('it is processed', async () => (await status('a')) === 'processed')
  t.equal(await events(database), 1)
})

t.test('stopping waits for no bomb, and unfinished messages wait for the next start', async (t) => {
  const mime = new MimeReader({ ...defaultMimeLimits, time: 60_000 }, contentAnalyzer)
  let begun = false
  const { processor, file, status, errors } = await fixture(t, {
    mime: {
      digest: () => Promise.reject(new Error('a report')),
      analyze: (workspaceId, source, facts) => {
        const noted: RawSource = () => {
          begun = true
          return source()
        }
        return mime.analyze(workspaceId, noted, facts)
      },
    },
  })
  const ids = ['a', 'b', 'c']
  for (const id of ids) await file(id, Buffer.concat([text, Buffer.from('\r\n'.repeat(5_000_000))]))
  processor.start()
  await waitUntil('the first is under way', () => begun)
  const stopped = processor.stop()
  await mime.close()
  await stopped
  t.same(await Promise.all(ids.map(status)), ['received', 'received', 'received'])
  t.same(errors, [])
})

t.test('an internal error fails one message and is logged', async (t) => {
  const buggy: Process = (email, raw, summary, analysis) => {
    if (email.id === 'odd') throw new TypeError('a bug')
    return judge(email, raw, summary, analysis)
  }
  const { processor, file, status, errors } = await fixture(t, { mail: { process: buggy } })
  await file('odd')
  await file('good')
  processor.start()
  await waitUntil(
    'both are over',
    async () => (await status('odd')) === 'failed' && (await status('good')) === 'processed',
  )
  t.match(errors, [/a bug/])
})

t.test('a message that is deleted during processing leaves no event', async (t) => {
  let commit: Database['commit'] | undefined
  const deleted: string[] = []
  const slow: Process = async (email, raw, summary, analysis) => {
    const place = { id: email.id, workspaceId: 'ws_1' }
    await commit?.([removeInbound(place), removeInboundRaw(place)])
    deleted.push(email.id)
    return judge(email, raw, summary, analysis)
  }
  const { processor, file, database, errors, status } = await fixture(t, { mail: { process: slow } })
  commit = database.commit
  await file('a')
  processor.start()
  await waitUntil('it is deleted', () => deleted.length > 0)
  await processor.stop()
  t.same([await status('a'), await events(database), errors], [undefined, 0, []])
})

t.test('a commit that misses for a waiting message is repeated, and delays no other', async (t) => {
  let judged = 0
  const missing: Process = async (email, raw, summary, analysis) => {
    judged += 1
    const processed = await judge(email, raw, summary, analysis)
    const missing = { sql: 'delete from emails where 1 = 0', parameters: [], rows: 1 }
    return judged === 1 ? { ...processed, writes: [...processed.writes, missing] } : processed
  }
  const { processor, file, status, errors, database } = await fixture(t, { mail: { process: missing } })
  await file('a')
  processor.start()
  await waitUntil('it was judged', () => judged === 1)
  await file('b')
  processor.onStored('ws_1')
  await waitUntil(
    'both are processed',
    async () => (await status('a')) === 'processed' && (await status('b')) === 'processed',
  )
  t.same([judged, await events(database), errors], [3, 2, []])
})

t.test('observers are notified of each committed verdict, and of none that missed', async (t) => {
  const observed: string[] = []
  let judged = 0
  const processAndCount: Process = async (email, raw, summary, analysis) => {
    judged += 1
    const missing = { sql: 'delete from emails where 1 = 0', parameters: [], rows: 1 }
    const { content, writes } = await judge(email, raw, summary, analysis)
    const onCommitted = () => observed.push(email.id)
    return { content, writes: judged === 1 ? [...writes, missing] : writes, mayBeFiled: true, onCommitted }
  }
  const { processor, file, status } = await fixture(t, { mail: { process: processAndCount } })
  await file('a')
  processor.start()
  await waitUntil('it is processed', async () => (await status('a')) === 'processed')
  await processor.stop()
  t.same([judged, observed], [2, ['a']])
})

t.test('a report is digested in a process and goes to the judge of reports', async (t) => {
  const seen: unknown[] = []
  const process: ProcessorDeps['reports']['process'] = async ({ id, workspace_id: workspaceId }, digest) => {
    seen.push(digest)
    return { writes: [removeInbound({ id, workspaceId }), removeInboundRaw({ id, workspaceId })] }
  }
  const { processor, database, errors } = await fixture(t, { reports: { process } })
  await database.commit(storeInbound(inboundMail({ id: 'a', kind: 'report', envelope_from: '' }), text))
  processor.start()
  await waitUntil('it is gone', async () => (await database.read('select 1 from inbound_emails', [])).length === 0)
  t.same([seen, errors], [[{ report: { type: 'other' }, isAutoReply: true }], []])
})

t.test('a workspace with much slow mail delays only itself', async (t) => {
  const ends: (() => void)[] = []
  const slow: Process = async (email, raw, summary, analysis) => {
    if (email.workspace_id === 'ws_1') await new Promise<void>((resolve) => ends.push(resolve))
    return judge(email, raw, summary, analysis)
  }
  const { processor, file, status, database } = await fixture(t, { mail: { process: slow } })
  const many = Array.from({ length: 120 }, (_, n) => `many-${n}`)
  for (const id of many) await file(id)
  await file('other', text, 'ws_2')
  processor.start()
  await waitUntil("the other's", async () => (await status('other')) === 'processed')
  await waitUntil('its own share is under way', () => ends.length === 50)
  await file('other-2', text, 'ws_2')
  processor.onStored('ws_2')
  await waitUntil("the other's next", async () => (await status('other-2')) === 'processed')
  await file('older', text, 'ws_1')
  processor.onStored('ws_1')
  t.equal(ends.length, 50)
  await waitUntil('all of them', () => {
    for (const end of ends.splice(0)) end()
    return areProcessed([...many, 'older'], status)
  })
  t.equal(await events(database), 123)
})

t.test(
  'a message in hand at two deaths of the process is filed as failed, unparsed; others are not',
  { skip: skipOnPostgres(fileOfSqlite) },
  async (t) => {
    const { database, file } = await temporaryDatabase(t)
    const program = fileURLToPath(new URL('../../fixtures/dying-processor.js', import.meta.url))
    for (const id of ['a', 'bomb', 'c']) await database.commit(storeInbound(inboundMail({ id }), text))
    const died: unknown[] = []
    for (let run = 0; run < 3; run += 1) {
      const child = spawn(process.execPath, [program, file], { stdio: 'inherit' })
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
      died.push(signal ?? code)
    }
    t.same(died, ['SIGKILL', 'SIGKILL', 0])
    t.same(await database.read('select id, status from inbound_emails order by id', []), [
      { id: 'a', status: 'processed' },
      { id: 'bomb', status: 'failed' },
      { id: 'c', status: 'processed' },
    ])
    t.equal(readFileSync(join(dirname(file), 'in-hand'), 'latin1'), '', 'a clean end leaves nothing')
  },
)

t.test('a message in hand at two deaths is not parsed even if the disk takes no write at first', async (t) => {
  const over: string[] = []
  const looked: string[] = []
  const crashGuard = {
    suspects: [{ id: 'bomb', workspaceId: 'ws_1', deaths: 2 }],
    begin: ({ id }: { readonly id: string }) => void looked.push(id),
    finish: (id: string) => void over.push(id),
  }
  const { processor, file, status, faults } = await fixture(t, { crashGuard })
  await file('bomb')
  faults.commit = true
  processor.start()
  await file('other')
  await waitUntil('it was looked for', () => looked.includes('other'))
  t.equal(await status('bomb'), 'received')
  t.notOk(over.includes('bomb'), 'it is remembered until it is on disk')
  faults.commit = false
  await waitUntil('it has failed', async () => (await status('bomb')) === 'failed')
  await waitUntil('the other was read', async () => (await status('other')) === 'processed')
  t.same(looked.includes('bomb'), false)
  await waitUntil('it is over', () => over.includes('bomb'))
})
