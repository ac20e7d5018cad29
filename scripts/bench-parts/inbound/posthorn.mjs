// Posthorn as an MX: the real daemon, with authentication and the complete spam score.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manyFromOneAddress, setUpDaemon, stopDaemon } from '../../lib/daemon.mjs'
import { listening } from '../../lib/processes.mjs'
import { openRows } from '../../lib/rows.mjs'
import { nodeFlags, startStorage } from '../posthorn.mjs'
import { RECIPIENT, trainingLetters } from './messages.mjs'

/** Messages of each kind: the classifier gives points from fifty on. */
const TRAINING = 100

export const inboundPosthorn = { name: 'Posthorn', start }
/** The two engines, for a comparison. */
export const inboundEngines = [
  { name: 'with PostgreSQL', start: (how) => start({ ...how, storage: 'postgres' }) },
  { name: 'with SQLite', start },
]

async function start({ folder, dns, storage }) {
  const home = mkdtempSync(join(folder, 'posthorn-'))
  const [, domain] = RECIPIENT.split('@')
  const settings = { inbound: manyFromOneAddress, submission: { listen: [] }, dns: { servers: [dns] } }
  const server = await startStorage(home, storage)
  const made = await setUpDaemon({ folder: home, domain, receives: true, settings, storage: server.url })
  train(made.command, join(home, 'training'))
  const daemon = made.start({ flags: nodeFlags })
  await listening(made.ports.mx)
  const rows = await openRows(made.database)
  const settled = `select count(*) as count from inbound_emails where status <> 'received'`
  return {
    port: made.ports.mx,
    pids: () => [daemon.pid],
    storagePids: server.pids,
    filed: async () => (await rows.read(settled, []))[0].count,
    verify: () => verify(rows),
    stop: async () => {
      await rows.close()
      await stopDaemon(daemon)
      await server.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function train(command, folder) {
  for (const [verdict, seed] of [
    ['spam', 10_000],
    ['ham', 20_000],
  ]) {
    const letters = join(folder, verdict)
    mkdirSync(letters, { recursive: true })
    for (const [at, text] of trainingLetters(TRAINING, seed).entries()) writeFileSync(join(letters, `${at}.eml`), text)
    command('spam', 'learn', letters, '--as', verdict)
  }
}

/** Makes sure that this side does all of its work. */
async function verify(rows) {
  const columns = 'spf_result, dkim_result, dmarc_result, status, spam_report'
  const [found] = await rows.read(`select ${columns} from inbound_emails limit 1`, [])
  const { spf_result: spf, dkim_result: dkim, dmarc_result: dmarc, status, spam_report: report } = found
  const good = [spf, dkim, dmarc].every((word) => word === 'pass') && status === 'processed' && report !== null
  if (!good) throw new Error(`Posthorn filed ${JSON.stringify(found)}`)
}
