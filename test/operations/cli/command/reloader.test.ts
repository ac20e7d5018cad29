/** The reload of a daemon says what kept it from reloading. */
import { pino } from 'pino'
import t from 'tap'
import { loadConfig } from '../../../../src/base/config/load.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import type { ReloadOutcome } from '../../../../src/operations/cli/command/reload-report.js'
import { createReloader } from '../../../../src/operations/cli/command/reloader.js'
import { writeConfiguration } from '../../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

async function reloadWith(fault: Error): Promise<ReloadOutcome> {
  const { file } = writeConfiguration(temporaryFolder(t), {})
  const { promise, resolve } = Promise.withResolvers<ReloadOutcome>()
  const reload = createReloader({
    log: pino({ enabled: false }),
    daemon: { reload: () => Promise.reject(fault) },
    reload: () => loadConfig({ file, env: {} }),
    systemd: { notifyReloading: () => undefined, notifyReloaded: () => undefined },
    onReloaded: () => t.fail('nothing was reloaded'),
    report: resolve,
  })
  reload()
  return promise
}

t.test('a database that is away is named, and no certificate is blamed', async (t) => {
  t.match(await reloadWith(new StorageFault('ECONNREFUSED', 'no server can be used')), {
    ok: false,
    problems: [{ key: '', message: 'the database cannot be used now: no server can be used' }],
  })
  t.match(await reloadWith(new Error('ENOENT')), { ok: false, problems: [{ key: 'tls', message: 'ENOENT' }] })
})
