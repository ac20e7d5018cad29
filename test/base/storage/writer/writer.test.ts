/** Group commit, on one connection and through the writer thread. */
// Of SQLite alone: its writer is a thread.
import { deepStrictEqual as deepEqual } from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import SQLite from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import { freeMemory } from '../../../../src/base/platform/memory/free-memory.js'
import type { ConnectionOptions } from '../../../../src/base/storage/db/connection.js'
import type { WrittenBatch } from '../../../../src/base/storage/db/database.js'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'
import { ConstraintViolated, StorageFault, type Write, WriteConflict } from '../../../../src/base/storage/db/write.js'
import { watchFaults } from '../../../../src/base/storage/health/watch-faults.js'
import { GroupCommit, type WriteRequest } from '../../../../src/base/storage/writer/group-commit.js'
import { openTestDatabase, temporaryDatabase } from '../../../helpers/database/database.js'
import { stateKeys, stateWrite } from '../../../helpers/database/state.js'
import { waitUntil } from '../../../helpers/wait-until.js'

function smallDatabase(): SQLite.Database {
  const db = new SQLite(':memory:')
  db.exec('create table words (word text primary key, bytes blob) strict')
  return db
}

const add = (word: string, bytes: Buffer | null = null): Write => ({
  sql: 'insert into words (word, bytes) values (?, ?)',
  parameters: [word, bytes],
})
const words = (db: SQLite.Database): unknown[] => db.prepare('select word from words order by word').pluck().all()
const script = new URL('../../../../src/base/storage/writer/writer-worker.js', import.meta.url)
const names = (outcomes: readonly (Error | undefined)[]): unknown[] => outcomes.map((error) => error?.name)

t.test('a request that fails after it changed rows is undone alone', async (t) => {
  const db = smallDatabase()
  const group = new GroupCommit(db)
  const outcomes = group.run([[add('a')], [add('b'), add('a')], [add('c'), add('d')]])
  t.same(names(outcomes), [undefined, 'ConstraintViolated', undefined])
  t.same(words(db), ['a', 'c', 'd'])
  t.equal(group.commits, 1)
})

t.test('a statement that touches too many rows is undone', async (t) => {
  const db = smallDatabase()
  const group = new GroupCommit(db)
  const all = { sql: 'delete from words', parameters: [], rows: 1 }
  t.same(names(group.run([[add('a'), add('b')], [all], [add('c')]])), [undefined, 'WriteConflict', undefined])
  t.same(words(db), ['a', 'b', 'c'])
})

t.test('what a trigger of a view has written is undone with the rest of a request that fails', async (t) => {
  const db = smallDatabase()
  db.exec(`create view news as select word from words;
    create trigger news_come instead of insert on news begin insert into words (word) values (new.word); end`)
  const throughView = { sql: 'insert into news (word) values (?)', parameters: ['b'] }
  const missing = { sql: `delete from words where word = 'no such word'`, parameters: [], rows: 1 }
  const outcomes = new GroupCommit(db).run([[add('a')], [throughView, missing], [add('c')]])
  t.same(names(outcomes), [undefined, 'WriteConflict', undefined])
  t.same(words(db), ['a', 'c'])
})

t.test('a statement that cannot be prepared fails alone, as a bug', async (t) => {
  const db = smallDatabase()
  const outcomes = new GroupCommit(db).run([[add('a')], [{ sql: 'insert into nowhere values (1)', parameters: [] }]])
  t.equal(outcomes[0], undefined)
  t.match(outcomes[1], { message: /no such table/ })
  t.notOk(outcomes[1] instanceof StorageFault)
  t.same(words(db), ['a'])
})

t.test('a full disk fails the whole batch, and the next one is tried afresh', async (t) => {
  const db = smallDatabase()
  const group = new GroupCommit(db)
  group.run([[add('before')]])
  const pages = Number(db.pragma('page_count', { simple: true }))
  db.pragma(`max_page_count = ${pages + 2}`)
  const outcomes = group.run([[add('small')], [add('large', Buffer.alloc(100_000))]])
  t.same(
    outcomes.map((error) => error instanceof StorageFault && error.code),
    ['SQLITE_FULL', 'SQLITE_FULL'],
  )
  t.notOk(db.inTransaction)
  t.same(words(db), ['before'])

  db.pragma(`max_page_count = ${pages + 100}`)
  t.same(group.run([[add('small')], [add('large', Buffer.alloc(100_000))]]), [undefined, undefined])
  t.same(words(db), ['before', 'large', 'small'])
})

t.test('any batch has the effect of its requests one by one, each done completely or not at all', async () => {
  const request = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 4 })
  const batches = fc.array(fc.array(request, { maxLength: 6 }), { maxLength: 4 })
  fc.assert(
    fc.property(batches, (drawn) => {
      const db = smallDatabase()
      const group = new GroupCommit(db)
      const model = new Set<string>()
      for (const batch of drawn) {
        const expected = batch.map((request) => applyToModel(model, request))
        const requests: WriteRequest[] = batch.map((request) => request.map((word) => add(word)))
        deepEqual(names(group.run(requests)), expected)
        deepEqual(words(db), [...model].sort())
      }
      db.close()
    }),
    { numRuns: 60 },
  )
})

function applyToModel(model: Set<string>, request: readonly string[]): string | undefined {
  const taken = request.some((word, at) => model.has(word) || request.indexOf(word) !== at)
  if (taken) return 'ConstraintViolated'
  for (const word of request) model.add(word)
  return undefined
}

t.test('many requests share few commits', async (t) => {
  const { database } = await temporaryDatabase(t)
  const batches: WrittenBatch[] = []
  database.onBatch((batch) => batches.push(batch))
  await Promise.all(Array.from({ length: 500 }, (_, n) => database.commit([stateWrite(`${n}`, 'x')])))
  t.ok(database.countCommits() < 20, `${database.countCommits()} commits for 500 requests`)
  t.equal(
    batches.reduce((sum, { requests }) => sum + requests, 0),
    500,
    'each request is in one of the batches',
  )
  t.equal(batches.length, database.countCommits())
  t.ok(batches.every(({ syncTime }) => syncTime !== null && syncTime > 0))
  t.ok(database.readBusyTime() > 0)
  t.equal((await stateKeys(database.read)).length, 500)
})

t.test('a batch that the disk does not take has no time of a sync, and the return of pages is no batch', async (t) => {
  const { database } = await temporaryDatabase(t, { maxPages: 300 })
  const batches: WrittenBatch[] = []
  database.onBatch((batch) => batches.push(batch))
  await t.rejects(database.commit([stateWrite('large', 'x'.repeat(2_000_000))]), { code: 'SQLITE_FULL' })
  await database.files?.reclaimPages(10)
  t.same(batches, [{ requests: 1, syncTime: null }])
})

t.test('through the writer, one failing request of many fails alone and says why', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([stateWrite('taken', 'x')])
  const results = await Promise.allSettled([
    database.commit([stateWrite('one', 'x')]),
    database.commit([stateWrite('gone', 'x'), stateWrite('taken', 'y')]),
    database.commit([{ sql: 'delete from service_state where key = ?', parameters: ['absent'], rows: 1 }]),
    database.commit([{ sql: 'nonsense', parameters: [] }]),
    database.commit([{ sql: 'delete from service_state where key = ?', parameters: [undefined] }]),
    database.commit([stateWrite('two', 'x')]),
  ])
  const reasons = results.map((result) => (result.status === 'rejected' ? result.reason : undefined))
  t.ok(reasons[1] instanceof ConstraintViolated)
  t.match(reasons[1], { message: /service_state\.key/ })
  t.ok(reasons[2] instanceof WriteConflict)
  t.match(reasons[3], { message: /syntax error/ })
  t.match(reasons[4], { message: /not undefined/ })
  t.same([reasons[0], reasons[5]], [undefined, undefined])
  t.same(await stateKeys(database.read), ['one', 'taken', 'two'])
})

t.test('bytes arrive unchanged, also from a shared pool that changes afterwards', async (t) => {
  const { database } = await temporaryDatabase(t)
  const pool = Buffer.alloc(64, 'a')
  const sql = 'insert into raw_messages (email_id, workspace_id, created_at, raw) values (?, ?, 0, ?)'
  const written = database.commit([{ sql, parameters: ['e', 'w', pool.subarray(8, 24)] }])
  pool.fill('b')
  await written
  const [row] = await database.read<{ raw: Buffer }>('select raw from raw_messages', [])
  t.equal(row?.raw.toString(), 'a'.repeat(16))
  t.equal(pool.length, 64, 'and the pool is still ours')
})

t.test('statements beyond the cache of the writer are prepared again', async (t) => {
  const { database } = await temporaryDatabase(t)
  const write = (n: number): Write => ({
    sql: `insert into service_state (key, value) values (?, '${n}')`,
    parameters: [`${n}`],
  })
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 900 }, (_, n) => database.commit([write(round * 900 + n)])))
  }
  const [wrong] = await database.read<{ count: number }>(
    'select count(*) as count from service_state where key != value',
    [],
  )
  t.equal(wrong?.count, 0)
  t.equal((await stateKeys(database.read)).length, 3600)
})

t.test('a full database answers with StorageFault, and takes writes again after deletions', async (t) => {
  const { database } = await temporaryDatabase(t, { maxPages: 330 })
  let stored = 0
  const fill = async (): Promise<void> => {
    for (;;) {
      await database.commit([stateWrite(`${stored}`, 'x'.repeat(20_000))])
      stored += 1
    }
  }
  await t.rejects(fill(), { name: 'StorageFault', code: 'SQLITE_FULL' })
  t.ok(stored > 5)
  t.equal((await stateKeys(database.read)).length, stored, 'all that was acknowledged is there')
  await database.commit([{ sql: 'delete from service_state', parameters: [] }])
  await database.commit([stateWrite('again', 'x'.repeat(20_000))])
  t.same(await stateKeys(database.read), ['again'])
})

t.test('free pages go back to the file system in portions', async (t) => {
  const { database } = await temporaryDatabase(t)
  const pages = async (): Promise<number> =>
    (await database.read<{ page_count: number }>('pragma page_count', []))[0]?.page_count ?? 0
  await database.commit([stateWrite('large', 'x'.repeat(1_000_000))])
  const full = await pages()
  await database.commit([{ sql: 'delete from service_state', parameters: [] }])
  await database.files?.reclaimPages(100)
  t.equal(await pages(), full - 100)
  await database.files?.reclaimPages(1000)
  t.ok((await pages()) < full - 200)
})

t.test('commits of another process are noticed; our own, and the opening by another, are not', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  let notices = 0
  const noticed = new Promise<void>((resolve) =>
    database.onForeignCommit(() => {
      notices += 1
      resolve()
    }),
  )
  await database.commit([stateWrite('own', 'x')])
  const other = await openTestDatabase(t, { file })
  await database.commit([stateWrite('own too', 'x')])
  t.equal(notices, 0)
  await other.commit([stateWrite('foreign', 'x')])
  await noticed
  t.equal(notices, 1)
  t.same(await stateKeys(database.read), ['foreign', 'own', 'own too'])
})

t.test('a writer thread that dies fails its running requests, and is restarted', async (t) => {
  let worker: Worker | undefined
  const startThread = (options: ConnectionOptions): Worker => {
    worker = new Worker(script, { workerData: options })
    return worker
  }
  const { database, file } = await temporaryDatabase(t, { restartAfter: 10, startThread })
  const restarted = new Promise<void>((resolve) => database.onForeignCommit(resolve))

  const blocker = new SQLite(file)
  blocker.exec('begin immediate')
  const inHand = database.commit([stateWrite('in hand', 'x')])
  await turn()
  const dead = worker?.terminate()
  await turn()
  blocker.close()
  await t.rejects(inHand, { name: 'StorageFault' })
  await dead
  await t.rejects(database.commit([stateWrite('too early', 'x')]), { name: 'StorageFault' })

  await restarted
  await database.commit([stateWrite('after', 'x')])
  t.same(await stateKeys(database.read), ['after'])
})

t.test('an urgent request goes to the writer at once, with all that is gathered', async (t) => {
  let messages = 0
  const startThread = (options: ConnectionOptions): Worker => {
    const worker = new Worker(script, { workerData: options })
    const post = worker.postMessage.bind(worker)
    return Object.assign(worker, {
      postMessage: (...message: Parameters<typeof post>) => {
        messages += 1
        post(...message)
      },
    })
  }
  const { database } = await temporaryDatabase(t, { startThread })
  const outage = { onOutageStart: () => t.fail('no outage'), onOutageEnd: () => undefined }
  const { commit, stop } = watchFaults(database.commit, { ...outage, buildProbe: () => stateWrite('probe', 'x') })
  t.teardown(stop)
  messages = 0
  const earlier = commit([stateWrite('earlier', 'x')])
  t.equal(messages, 0, 'one that is not urgent waits for others of the turn')
  const urgent = commit([stateWrite('urgent', 'x')], { isUrgent: true })
  t.equal(messages, 1)
  const later = commit([stateWrite('later', 'x')])
  t.equal(messages, 1)
  await Promise.all([earlier, urgent, later])
  t.equal(messages, 2)
  t.same((await stateKeys(database.read)).toSorted(), ['earlier', 'later', 'urgent'])
})

t.test('closing finishes earlier requests, and refuses later ones', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const last = database.commit([stateWrite('last', 'x')])
  await database.close()
  await last
  await t.rejects(database.commit([stateWrite('late', 'x')]), { name: 'StorageFault', message: /closed/ })
  const again = await openTestDatabase(t, { file })
  t.same(await stateKeys(again.read), ['last'])
})

t.test(
  'an outage of the database is reported once when it begins and once when it ends, even without writes',
  async (t) => {
    let broken = false
    const committed: (readonly Write[])[] = []
    const said: string[] = []
    const probe = add('probe')
    const { commit, stop } = watchFaults(
      async (writes) => {
        if (broken) throw new StorageFault('SQLITE_FULL', 'database or disk is full')
        if (writes.includes(conflicting)) throw new WriteConflict('it had moved on')
        committed.push(writes)
      },
      {
        onOutageStart: ({ code }) => said.push(code),
        onOutageEnd: () => said.push('over'),
        buildProbe: () => probe,
        interval: 1,
      },
    )
    const conflicting = add('twice')
    t.teardown(stop)
    await commit([add('a')])
    await t.rejects(commit([conflicting]), { name: 'WriteConflict' })
    t.same(said, [], 'a conflict is no outage')
    broken = true
    for (const word of ['b', 'c']) await t.rejects(commit([add(word)]), { name: 'StorageFault' })
    t.same(said, ['SQLITE_FULL'])
    broken = false
    await waitUntil('a probe was written', () => said.length === 2)
    t.same(said, ['SQLITE_FULL', 'over'])
    t.same(committed.at(-1), [probe])
    broken = true
    await t.rejects(commit([add('d')]))
    stop()
    await t.rejects(commit([add('e')]), { name: 'StorageFault' })
    t.same(said, ['SQLITE_FULL', 'over', 'SQLITE_FULL'], 'what is stopped probes no more')
  },
)

t.test('small commits that succeed between large ones that fail do not end an outage', async (t) => {
  const said: string[] = []
  const { commit, stop } = watchFaults(
    async ([write]) => {
      if (write?.parameters[1] !== null) throw new StorageFault('SQLITE_FULL', 'database or disk is full')
    },
    {
      onOutageStart: ({ code }) => said.push(code),
      onOutageEnd: () => said.push('over'),
      buildProbe: () => add('probe'),
      interval: 60_000,
    },
  )
  t.teardown(stop)
  for (let times = 0; times < 3; times++) {
    await t.rejects(commit([add('large', Buffer.alloc(9))]), { name: 'StorageFault' })
    await commit([add('small')])
  }
  t.same(said, ['SQLITE_FULL'])
})

t.test('bytes in pieces become one value, and the memory of large ones is moved', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([{ sql: 'create table words (word text primary key, bytes blob) strict', parameters: [] }])
  const put = (word: string, pieces: readonly Uint8Array[]): Write => ({
    sql: 'insert into words (word, bytes) values (?, ?)',
    parameters: [word, MessageBytes.moved(pieces)],
  })
  const kept = async (word: string): Promise<Buffer | undefined> =>
    (await database.read<{ bytes: Buffer }>('select bytes from words where word = ?', [word]))[0]?.bytes
  const content = Buffer.alloc(2_000_000, 'content')
  const memory = Buffer.concat([Buffer.alloc(100), content])
  const raw = memory.subarray(100)
  const [one, two] = [Buffer.from('one'), Buffer.from('and two')]
  await database.commit([
    put('first', [one, raw]),
    put('second', [two, raw.subarray(0, 10), raw.subarray(10)]),
    put('cut', [two, raw.subarray(0, 10), raw.subarray(20)]),
  ])
  t.ok((await kept('first'))?.equals(Buffer.concat([one, content])))
  t.ok((await kept('second'))?.equals(Buffer.concat([two, content])))
  t.ok((await kept('cut'))?.equals(Buffer.concat([two, content.subarray(0, 10), content.subarray(20)])))
  t.equal(memory.length, 0, 'it is not here any more')
  t.equal(one.toString(), 'one', 'what is small was copied')

  const again = Buffer.alloc(2_000_000, 'x')
  const both = [database.commit([put('third', [one, again])]), database.commit([put('first', [two])])]
  t.match(await Promise.allSettled(both), [{ status: 'fulfilled' }, { reason: { name: 'ConstraintViolated' } }])
  t.equal((await kept('third'))?.length, 2_000_003)
})

t.test('memory that is gone is refused, and no other request is touched', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([{ sql: 'create table words (word text primary key, bytes blob) strict', parameters: [] }])
  const put = (word: string, bytes: MessageBytes): Write => ({
    sql: 'insert into words (word, bytes) values (?, ?)',
    parameters: [word, bytes],
  })
  const [first, second, third] = ['a', 'b', 'c'].map((letter) => Buffer.alloc(2_000_000, letter)) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const requests = [
    [put('moved', MessageBytes.moved([first]))],
    // The memory that it names before its fault stays here.
    [put('before', MessageBytes.moved([second])), put('gone', MessageBytes.moved([third]))],
    [put('lent', MessageBytes.lent(third))],
    [put('last', MessageBytes.moved([Buffer.from('last')]))],
  ]
  freeMemory(third)
  const made = await Promise.allSettled(requests.map((writes) => database.commit(writes)))
  t.same(
    made.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  )
  t.equal(second.length, 2_000_000)
  await database.commit([put('before', MessageBytes.moved([second]))])
  t.same(await database.read('select word, length(bytes) as bytes from words order by word', []), [
    { word: 'before', bytes: 2_000_000 },
    { word: 'last', bytes: 4 },
    { word: 'moved', bytes: 2_000_000 },
  ])
})

t.test('lent memory comes back, whether the commit was made or not', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([{ sql: 'create table words (word text primary key, bytes blob) strict', parameters: [] }])
  const put = (word: string, bytes: MessageBytes): Write => ({
    sql: 'insert into words (word, bytes) values (?, ?)',
    parameters: [word, bytes],
  })
  const contentOf = (place: number): Buffer => Buffer.alloc(50_000, `content ${place}`)
  const lend = (place: number): MessageBytes => {
    const memory = Buffer.allocUnsafeSlow(50_100)
    contentOf(place).copy(memory, 100)
    return MessageBytes.lent(memory.subarray(100))
  }
  const loans = [0, 1, 2, 3, 4].map(lend)
  const [first, second, third, fourth, fifth] = loans as [
    MessageBytes,
    MessageBytes,
    MessageBytes,
    MessageBytes,
    MessageBytes,
  ]
  const commits = [
    database.commit([put('first', first), put('second', second)]),
    database.commit([put('first', third)]),
    database.commit([{ sql: 'select 1', parameters: [], rows: 1 }]).catch(() => undefined),
    database.commit([put('fourth', fourth), put('fifth', fifth)]),
  ]
  t.equal(first.length, 50_000)
  const results = await Promise.allSettled(commits)
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  for (const [place, loan] of loans.entries()) t.ok(loan.read().equals(contentOf(place)), `${place} is back`)
  const rows = await database.read<{ word: string; bytes: Buffer }>('select word, bytes from words order by rowid', [])
  t.same(
    rows.map(({ word }) => word),
    ['first', 'second', 'fourth', 'fifth'],
  )
  for (const [row, place] of [0, 1, 3, 4].entries())
    t.ok(rows[row]?.bytes.equals(contentOf(place)), `${place} is stored`)
})
