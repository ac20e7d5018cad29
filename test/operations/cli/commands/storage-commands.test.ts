/**
 * `storage copy`: what it prints and refuses.
 *
 * Runs alone: it sets the engine of its process.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { useEngine } from '../../../../src/base/storage/db/engine.js'
import { createInstallation, setUpWorkspace } from '../../../helpers/cli/command-line.js'
import { runCommand, writeConfiguration } from '../../../helpers/daemon/test-daemon.js'
import { stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)
t.beforeEach(() => useEngine('sqlite'))

const nowhere = 'postgres://posthorn@127.0.0.1:1/mail'

t.test('it refuses what it cannot do, and says why', async (t) => {
  const { run, data } = createInstallation(t)
  t.match(await run('storage', 'copy'), { status: 2, err: /--to is missing/ })
  t.match(await run('storage', 'copy', '--to', nowhere), { status: 1, err: /there is no database at/ })
  await setUpWorkspace(run)
  t.match(await run('storage', 'copy', '--to', 'mysql://x'), { status: 1, err: /^posthorn: --to: found "mysql:\/\/x"/ })
  t.match(await run('storage', 'copy', '--to', nowhere, '--schema', 'A b'), { status: 1, err: /--schema: found "A b"/ })
  t.match(await run('storage', 'copy', '--to', nowhere, '--ca-file', '/none'), {
    status: 1,
    err: /--ca-file: found "\/none"/,
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
  t.match(onServer, { status: 1, err: /storage copy: the data is on the server that storage\.url names/ })
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
    out: /^TABLE +ROWS +STORED +SUM +RESULT\napi_keys +1 +1 +[\da-f]{16} +same\n(?:.+\n)+copied \d+ rows of \d+ tables to the schema copied/,
  })
  t.match(copied.out, `set storage.url = "${url}" in the configuration`)
  t.match(copied.out, /to go back, remove storage\.url and start the daemon/)
  const again = (await run(...words, '--json')).json()
  t.match(again, { ok: true, schema: 'copied', rows: Number })
  t.match(again, { tables: [{ table: 'api_keys', rows: 1, stored: 1, sum: /^[\da-f]{64}$/, same: true }] })

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
