/**
 * What the program writes can be read by its user alone, also where an administrator has made the data folder for all to
 * enter and the umask allows everybody to read.
 *
 * Runs alone: it sets the umask of its process.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createInstallation, setUpWorkspace } from '../helpers/cli/command-line.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'

process.umask(0o022)

/** Names of files below `folder` that group or others can read or write. The certificate that clients are given is one. */
function listReadable(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path !== join('tls', 'cert.pem') && (lstatSync(join(folder, path)).mode & 0o066) !== 0,
  )
}

t.test('no file of the data folder can be read by others', async (t) => {
  const installation = createInstallation(t)
  mkdirSync(installation.data, { recursive: true })
  chmodSync(installation.data, 0o755)
  await setUpWorkspace(installation.run)
  t.same(listReadable(installation.data), [])

  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink }, folder: installation.folder })
  const { data_dir: data } = app.config.service
  t.equal((await app.rest('GET', '/healthz', { key: null })).status, 200)
  t.ok(readdirSync(data).includes('status.json'), 'the daemon runs')
  t.same(listReadable(data), [])
  await app.stop()
})

t.test('backups and standby folders hold what the database does, and are as closed', async (t) => {
  const { folder, run } = createInstallation(t)
  await setUpWorkspace(run)
  const [file, dated] = [join(folder, 'one.db'), join(folder, 'dated')]
  mkdirSync(dated)
  t.equal((await run('backup', file)).status, 0)
  t.equal(statSync(file).mode & 0o077, 0)
  t.equal((await run('backup', dated, '--keep', '2')).status, 0)
  t.equal(readdirSync(dated).length, 2, 'a backup and the list')
  t.same(listReadable(dated), [])
  rmSync(file)
  t.equal((await run('backup', file, '--compact')).status, 0)
  t.equal(statSync(file).mode & 0o077, 0)
})
