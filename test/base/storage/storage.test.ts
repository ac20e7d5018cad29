/** Storage across processes: durability, migrations, folders that are not writable. */
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Migrations } from '../../../src/base/storage/db/migrate.js'
import { migrations } from '../../../src/base/storage/db/migrations.js'
import { openDatabase } from '../../../src/base/storage/open.js'
import { startChild } from '../../helpers/database/children.js'
import { openTestDatabase, temporaryFolder } from '../../helpers/database/database.js'
import { stateKeys, stateWrite } from '../../helpers/database/state.js'

const fileIn = (folder: string): string => join(folder, 'posthorn.db')

t.test('a process killed at any moment loses nothing that it acknowledged', async (t) => {
  const file = fileIn(temporaryFolder(t))
  const child = startChild(t, file, 'write')
  await child.waitForLines(300)
  await child.kill()
  const { read } = await openTestDatabase(t, { file })
  const present = new Set(await stateKeys(read))
  const lost = child.lines.filter((number) => !present.has(number) || !present.has(`${number}-too`))
  t.same(lost, [])
  t.ok(present.size >= 600)
  t.equal(present.size % 2, 0, 'and no request is there by half')
})

const strace = spawnSync('strace', ['-f', '-e', 'trace=write', 'true']).status === 0

t.test(
  'the write-ahead log is synced before the acknowledgement',
  { skip: !strace && 'strace is not here' },
  async (t) => {
    const folder = temporaryFolder(t)
    const trace = join(folder, 'trace')
    const under = ['strace', '-f', '-y', '-e', 'trace=fdatasync,fsync,write', '-o', trace]
    const child = startChild(t, fileIn(folder), 'once', { under })
    await child.ended
    const lines = readFileSync(trace, 'utf8').split('\n')
    const ready = lines.findIndex((line) => line.includes('"ready\\n"'))
    const acknowledged = lines.findIndex((line) => line.includes('"acknowledged\\n"'))
    t.ok(ready > 0 && acknowledged > ready)
    t.ok(finishedSync(lines.slice(ready, acknowledged)), 'an fdatasync of the WAL began and ended in between')
  },
)

function finishedSync(lines: readonly string[]): boolean {
  const begun = lines.findIndex((line) => /f(data)?sync\(\d+<[^>]*-wal>/.test(line))
  const line = lines[begun]
  if (line === undefined || !line.includes('unfinished')) return line?.endsWith('= 0') ?? false
  const thread = line.split(' ')[0]
  return lines.slice(begun).some((later) => later.startsWith(`${thread} `) && /sync resumed>.*= 0$/.test(later))
}

t.test('when processes start at once, one creates the database and all can use it', async (t) => {
  const file = fileIn(temporaryFolder(t))
  const children = Array.from({ length: 4 }, () => startChild(t, file, 'once'))
  await Promise.all(children.map((child) => child.ended))
  for (const { lines } of children) t.same(lines, ['ready', 'acknowledged'])
  t.equal((await stateKeys((await openTestDatabase(t, { file })).read)).length, 4)
})

t.test('a database of a newer version is refused and left unchanged', async (t) => {
  const file = fileIn(temporaryFolder(t))
  await (await openDatabase({ file, migrations: { ...migrations, '9999-later': [] } })).close()
  const before = readFileSync(file)
  await t.rejects(openDatabase({ file }), { name: 'NewerDatabase', message: /newer version.*9999-later/ })
  t.ok(before.equals(readFileSync(file)))
})

t.test('a failed migration leaves nothing of itself or of those before it', async (t) => {
  const file = fileIn(temporaryFolder(t))
  const broken: Migrations = {
    ...migrations,
    '9999-broken': ['create table half (id text)', 'insert into nowhere values (1)'],
  }
  await t.rejects(openDatabase({ file, migrations: broken }), { message: 'no such table: nowhere' })
  const { read } = await openTestDatabase(t, { file })
  t.same(await read(`select name from sqlite_schema where name = 'half'`, []), [])
  t.same(await stateKeys(read), [])
})

t.test('another process reads and writes beside an open database', async (t) => {
  const file = fileIn(temporaryFolder(t))
  const first = await openTestDatabase(t, { file })
  const child = startChild(t, file, 'open')
  await child.ended
  t.same(child.lines, ['read 0', 'written'])
  t.same(await stateKeys(first.read), ['open'])
})

t.test('only its owner may read the database and its log', async (t) => {
  const file = fileIn(temporaryFolder(t))
  const { commit } = await openTestDatabase(t, { file })
  await commit([stateWrite('secret', 'x')])
  for (const name of [file, `${file}-wal`, `${file}-shm`]) t.equal(statSync(name).mode & 0o777, 0o600, name)
})

t.test('without write permission', async (t) => {
  // Permissions do not stop root: the child then runs as the user nobody.
  const unprivileged = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const file = fileIn(temporaryFolder(t))
  const folder = dirname(file)

  t.test('no database can be created, and the folder is named', async (t) => {
    chmodSync(folder, 0o555)
    const child = startChild(t, file, 'open', unprivileged)
    await child.ended
    t.match(child.lines[0], /EACCES.*posthorn\.db/)
    chmodSync(folder, 0o755)
  })

  t.test('an existing one is not opened without its log', async (t) => {
    const database = await openDatabase({ file })
    await database.commit([stateWrite('there', 'x')])
    await database.close()
    chmodSync(file, 0o444)
    chmodSync(folder, 0o555)
    const child = startChild(t, file, 'open', unprivileged)
    await child.ended
    t.match(child.lines[0], /^fault SQLITE_/)
  })

  t.test('a read-only file is read, and a commit is a StorageFault', async (t) => {
    chmodSync(folder, 0o777)
    const child = startChild(t, file, 'open', unprivileged)
    await child.ended
    t.equal(child.lines[0], 'read 1')
    t.match(child.lines[1], /^fault SQLITE_READONLY/)
  })
})

const root = { skip: process.getuid?.() !== 0 && 'only root can change what another user may do' }

t.test('a writer that was refused reopens the file, and writes once it is allowed', root, async (t) => {
  const file = fileIn(temporaryFolder(t))
  await (await openDatabase({ file })).close()
  chmodSync(file, 0o644)
  chmodSync(dirname(file), 0o777)
  const child = startChild(t, file, 'retry', { uid: 65534, gid: 65534 })
  await child.waitForLines(2)
  t.match(child.lines[1], /^fault SQLITE_READONLY/)
  chmodSync(file, 0o666)
  await child.ended
  t.equal(child.lines[2], 'written')
})
