/** Cached files in storage: chunks, quota, interrupted uploads, expiry. */
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import {
  type CachedFile,
  findFile,
  readFileBytes,
  recordFileUse,
  removeExpiredFiles,
  USE_INTERVAL,
} from '../../../src/workspaces/content/cached-files.js'
import { detectFileType } from '../../../src/workspaces/content/file-type.js'
import { storeFile } from '../../../src/workspaces/content/store-file.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)

interface Store {
  readonly database: Database
  now: number
  readonly add: (bytes: AsyncIterable<Buffer> | readonly Buffer[], workspaceId?: string) => Promise<CachedFile>
  readonly count: (table: 'cached_files' | 'cached_file_chunks') => Promise<number>
  readonly total: (workspaceId?: string) => Promise<number>
  /** Rows of each commit. */
  readonly commits: (readonly Write[])[]
}

async function store(t: Test, most?: number): Promise<Store> {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  const commits: (readonly Write[])[] = []
  const self: Store = {
    database,
    now: START,
    commits,
    add: (bytes, workspaceId = 'ws_1') => {
      const commit: Database['commit'] = (writes) => {
        commits.push(writes)
        return database.commit(writes)
      }
      const deps = { read, commit, clock: () => self.now, ...(most === undefined ? {} : { maxBytes: most }) }
      const source = Symbol.asyncIterator in bytes ? bytes : Readable.from(bytes)
      return storeFile(deps, { workspaceId, owner: workspaceId, name: 'a.bin', contentType: 'text/csv', bytes: source })
    },
    count: async (table) => (await read<{ n: number }>(`select count(*) n from ${table}`, []))[0]?.n ?? -1,
    total: async (workspaceId = 'ws_1') =>
      (await read<{ bytes: number }>('select bytes from cached_file_totals where workspace_id = ?', [workspaceId]))[0]
        ?.bytes ?? 0,
  }
  return self
}

t.test('a file is read back byte for byte, whatever the pieces in which it arrived', async (t) => {
  const files = await store(t)
  const bytes = Buffer.alloc(600_000, Buffer.from(Array.from({ length: 251 }, (_, at) => at)))
  for (const size of [1_000, 262_144, 262_143, 600_000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    )
    const file = await files.add(pieces)
    t.match(file, { size: bytes.length, complete: 1, created_at: START, name: 'a.bin', content_type: 'text/csv' })
    t.ok((await readFileBytes(files.database.read, file))?.equals(bytes), `${size}`)
  }
  t.equal(await files.count('cached_file_chunks'), 12)
  const largest = Math.max(
    ...files.commits
      .flat()
      .flatMap(({ parameters }) => parameters.map((one) => (Buffer.isBuffer(one) ? one.length : 0))),
  )
  t.equal(largest, 262_144, 'no commit is larger')
  const empty = await files.add([])
  t.equal((await readFileBytes(files.database.read, empty))?.length, 0)
})

t.test('a file belongs to its workspace, and exists only when it is complete', async (t) => {
  const files = await store(t)
  const { read } = files.database
  let seen: readonly unknown[] = []
  async function* looking(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(300_000)
    const keys = await read<{ key: string }>('select key from cached_files', [])
    seen = await Promise.all(keys.map(({ key }) => findFile(read, { workspaceId: 'ws_1', key })))
    yield Buffer.alloc(1)
  }
  const { key } = await files.add(looking())
  t.same(seen, [undefined])
  t.equal((await findFile(read, { workspaceId: 'ws_1', key }))?.size, 300_001)
  t.equal(await findFile(read, { workspaceId: 'ws_2', key }), undefined)
})

t.test('an interrupted upload leaves nothing', async (t) => {
  const files = await store(t)
  async function* breaking(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(300_000)
    throw new Error('the client is gone')
  }
  await t.rejects(files.add(breaking()), { message: 'the client is gone' })
  t.same([await files.count('cached_files'), await files.count('cached_file_chunks'), await files.total()], [0, 0, 0])
})

t.test('a workspace has a storage quota, and removed files free it', async (t) => {
  const files = await store(t, 1_000_000)
  const first = await files.add([Buffer.alloc(600_000)])
  t.equal(await files.total(), 604_096)
  await t.rejects(files.add([Buffer.alloc(600_000)]), /may have 1000000 bytes/)
  t.equal(await files.total(), 604_096, 'the one that was refused counts no more')
  await files.add([Buffer.alloc(600_000)], 'ws_2')
  const atOnce = await Promise.allSettled([1, 2, 3].map(() => files.add([Buffer.alloc(150_000)])))
  t.same(atOnce.map(({ status }) => status).sort(), ['fulfilled', 'fulfilled', 'rejected'])
  files.now += 2 * HOUR
  const usedBefore = first.used_at + 1
  while (await removeExpiredFiles(files.database, { usedBefore, now: files.now })) t.ok(true)
  t.same([await files.total(), await files.total('ws_2'), await files.count('cached_file_chunks')], [0, 0, 0])
  await files.add([Buffer.alloc(900_000)])
})

t.test('files unused for long and uploads never completed are removed', async (t) => {
  const files = await store(t)
  const { read, commit } = files.database
  const old = await files.add([Buffer.alloc(10)])
  const used = await files.add([Buffer.alloc(10)])
  await commit([
    {
      sql: `insert into cached_files select workspace_id, 'cut', name, content_type, 0, 0, ?, ? from cached_files limit 1`,
      parameters: [START, START + 40 * HOUR],
    },
  ])
  t.same(recordFileUse(used, START + USE_INTERVAL - 1), [], 'a use within the hour is written down already')
  await commit(recordFileUse(used, START + 5 * HOUR))
  const keys = async (): Promise<unknown> =>
    (await read<{ key: string }>('select key from cached_files order by used_at', [])).map(({ key }) => key)
  const forget = async (now: number, usedBefore: number): Promise<void> => {
    while (await removeExpiredFiles(files.database, { usedBefore, now })) t.ok(true)
  }
  await forget(START + HOUR, START)
  t.same(await keys(), [old.key, used.key, 'cut'])
  await forget(START + HOUR + 1, START)
  t.same(await keys(), [old.key, used.key])
  await forget(START + HOUR + 1, START + 1)
  t.same(await keys(), [used.key])
  t.equal(await readFileBytes(read, old), null)
})

t.test('a file that is used while it is about to expire stays', async (t) => {
  const files = await store(t)
  const { read, commit } = files.database
  const [used, old] = [await files.add([Buffer.alloc(10, 'a')]), await files.add([Buffer.alloc(20)])]
  const now = START + 5 * HOUR
  let step = 0
  const slow: typeof commit = async (writes) => {
    step += 1
    if (step === 1) await commit(recordFileUse(used, now))
    await commit(writes)
  }
  while (await removeExpiredFiles({ read, commit: slow }, { usedBefore: START + HOUR, now })) t.ok(step < 3)
  t.same(await readFileBytes(read, used), Buffer.alloc(10, 'a'))
  t.equal(await readFileBytes(read, old), null)
  t.same([await files.count('cached_files'), await files.count('cached_file_chunks')], [1, 1])
})

t.test('a step of expiry is small, however large the files', async (t) => {
  const files = await store(t)
  for (let n = 0; n < 4; n += 1) await files.add([Buffer.alloc(5 * 1_048_576)])
  let steps = 0
  while (await removeExpiredFiles(files.database, { usedBefore: START + 1, now: START })) steps += 1
  t.equal(steps, 4)
})

t.test('the type of a file is the declared one, unless that says nothing', async (t) => {
  const rows: readonly (readonly [said: string | null, name: string, type: string])[] = [
    ['image/png', 'a.pdf', 'image/png'],
    ['application/octet-stream', 'a.pdf', 'application/pdf'],
    ['text/plain', 'a.pdf', 'application/pdf'],
    ['text/plain', 'README', 'text/plain'],
    ['text/plain', 'a.txt', 'text/plain'],
    [null, 'a.csv', 'text/csv'],
    [null, 'a', 'application/octet-stream'],
    [null, 'a.__proto__', 'application/octet-stream'],
  ]
  for (const [said, name, type] of rows) t.equal(detectFileType(said, name), type, `${said} ${name}`)
})
