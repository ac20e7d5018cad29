/**
 * `storage copy`: what it prints and refuses.
 *
 * Runs alone: it sets the engine of its process.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { useEngine } from '../../../../src/base/storage/db/engine.js'
import { createInstallation, programFile, setUpWorkspace } from '../../../helpers/cli/command-line.js'
import { runCommand, writeConfiguration } from '../../../helpers/daemon/test-daemon.js'
import { stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { plainNode } from '../../../helpers/programs/plain-node.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.teardown(stopServer)
t.beforeEach(() => useEngine('sqlite'))

const nowhere = 'postgres://posthorn@127.0.0.1:1/mail'

t.test('it refuses what it cannot do, and says why', async (t) => {
  const { run, data } = createInstallation(t)
  t.match((await run('storage', 'copy', '--help')).out, /--to +the database.*\n +--password-file +the file with/)
  t.match(await run('storage', 'copy'), { status: 2, err: /--to is missing/ })
  t.match(await run('storage', 'copy', '--to', nowhere), { status: 1, err: /there is no database at/ })
  await setUpWorkspace(run)
  t.match(await run('storage', 'copy', '--to', 'mysql://x'), { status: 1, err: /^posthorn: --to: found "mysql:\/\/x"/ })
  t.match(await run('storage', 'copy', '--to', nowhere, '--schema', 'A b'), { status: 1, err: /--schema: found "A b"/ })
  t.match(await run('storage', 'copy', '--to', nowhere, '--ca-file', '/none'), {
    status: 1,
    err: /--ca-file: found "\/none"/,
  })
  t.match(await run('storage', 'copy', '--to', nowhere, '--password-file', '/none'), {
    status: 1,
    err: /^posthorn: --password-file: found "\/none", which cannot be read/,
  })
  t.match(await run('storage', 'copy', '--to', nowhere), {
    status: 1,
    err: /no server of --to can be used: .*ECONNREFUSED/,
  })
  const lock = lockDataFolder(data)
  t.match(await run('storage', 'copy', '--to', nowhere), { status: 1, err: /a running daemon .*: stop it first/ })
  lock.release()
  const { file } = writeConfiguration(join(data, '..'), { settings: { storage: { url: nowhere } } })
  const onServer = await runCommand(['storage', 'copy', '--to', nowhere, '--config', file])
  t.match(onServer, {
    status: 1,
    err: /storage copy: the data is on the server that storage\.url names, whose own tools do this/,
  })
  const verified = await runCommand(['verify-data', '--config', file])
  t.match(verified, { status: 1, err: /verify-data: .*pg_amcheck\); nothing compares its counts with its rows/ })
})

t.test('an installation is copied, and goes on from there', { skip: withoutPostgres }, async (t) => {
  const { run, folder } = createInstallation(t)
  const { workspace_id: workspaceId } = await setUpWorkspace(run)
  const before = await run('workspace', 'list')
  const url = await temporaryPostgres(t)
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'secret\n')
  const words = ['storage', 'copy', '--to', url, '--schema', 'copied', '--password-file', passwordFile]
  const copied = await run(...words)
  t.match(copied, {
    status: 0,
    out: /^TABLE +ROWS +STORED +SUM +RESULT\n(?:.+\n)*api_keys +1 +1 +[\da-f]{16} +same\n(?:.+\n)+copied \d+ rows of \d+ tables to the schema copied/,
  })
  const settings = `storage.url = "${url}", storage.password_file = "${passwordFile}", storage.schema = "copied"`
  t.match(copied.out, `next, set ${settings} in the configuration, run`)
  t.match(copied.out, /to go back, remove storage\.url and start the daemon/)
  const again = (await run(...words, '--json')).json()
  t.match(again, { ok: true, schema: 'copied', rows: Number })
  const { tables } = again as { readonly tables: readonly { readonly table: string }[] }
  const ofKeys = tables.find(({ table }) => table === 'api_keys')
  t.match(ofKeys, { rows: 1, stored: 1, sum: /^[\da-f]{64}$/, same: true })

  mkdirSync(join(folder, 'other'))
  const { file } = writeConfiguration(join(folder, 'other'), {
    settings: { storage: { url, schema: 'copied' } },
  })
  const onServer = await runCommand(['workspace', 'list', '--config', file])
  t.equal(onServer.out, before.out)
  t.match(onServer.out, workspaceId)
  useEngine('sqlite')
  t.equal((await run('workspace', 'list')).out, before.out, 'SQLite has what it had')
})

async function connectTo(t: Test, url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

t.test('a copy that was killed is made again', { skip: withoutPostgres }, async (t) => {
  const { run, folder, config } = createInstallation(t)
  await setUpWorkspace(run)
  const url = await temporaryPostgres(t)
  const words = ['storage', 'copy', '--to', url, '--schema', 'copied']
  t.equal((await run(...words)).status, 0)
  const client = await connectTo(t, url)
  await client.query('create rule slow as on insert to copied.zone_serial do also select pg_sleep(3)')
  const killed = spawn('env', plainNode(programFile, ...words, '--config', config), { detached: true })
  const isAsleep = `select 1 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
  await waitUntil('the last table is copied', async () => (await client.query(isAsleep)).rowCount === 1)
  process.kill(-(killed.pid ?? 0), 'SIGKILL')
  await once(killed, 'close')
  await client.query('drop rule slow on copied.zone_serial')
  t.match((await client.query('select count(*) as rows from copied.workspaces')).rows, [{ rows: '1' }])

  mkdirSync(join(folder, 'other'))
  const { file } = writeConfiguration(join(folder, 'other'), { settings: { storage: { url, schema: 'copied' } } })
  const refused = {
    status: 1,
    err: /^posthorn: storage\.url: the schema copied has a copy from SQLite .* not finished/,
  }
  t.match(await runCommand(['workspace', 'list', '--config', file]), refused)
  const checked = await runCommand(['check', '--config', file])
  t.match(checked, { status: 1, out: /storage\.url: the schema copied has a copy from SQLite that began/ })
  useEngine('sqlite')
  t.match(await run(...words), { status: 0 })
  t.match(await runCommand(['workspace', 'list', '--config', file]), { status: 0 })
})

t.test('the doctor and the check look at a server, and make nothing there', { skip: withoutPostgres }, async (t) => {
  const url = await temporaryPostgres(t)
  const { folder } = createInstallation(t)
  mkdirSync(join(folder, 'other'))
  const settings = { storage: { url, schema: 'not_made' }, dns: { servers: ['127.0.0.1:9'] } }
  const { file } = writeConfiguration(join(folder, 'other'), { settings })
  t.notMatch((await runCommand(['doctor', 'leases', '--config', file])).out, /storage\.url/)
  const upgrade = await runCommand(['check', '--upgrade', '--config', file]).catch((error: Error) => ({
    err: error.message,
  }))
  t.match(upgrade.err, /--upgrade: the data is on the server that storage\.url names/)
  const client = await connectTo(t, url)
  const found = await client.query(`select to_regnamespace('not_made') as schema`)
  t.same(found.rows, [{ schema: null }])
  useEngine('sqlite')
})
