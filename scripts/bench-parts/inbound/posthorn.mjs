// Posthorn as an MX: the real daemon, with authentication and the complete spam score.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { manyFromOneAddress, setUpDaemon, stopDaemon } from '../../lib/daemon.mjs'
import { listening } from '../../lib/processes.mjs'
import { nodeFlags } from '../posthorn.mjs'
import { RECIPIENT, trainingLetters } from './messages.mjs'

/** Messages of each kind: the classifier gives points from fifty on. */
const TRAINING = 100

export const inboundPosthorn = { name: 'Posthorn', start }

async function start({ folder, dns }) {
  const home = mkdtempSync(join(folder, 'posthorn-'))
  const [, domain] = RECIPIENT.split('@')
  const settings = { inbound: manyFromOneAddress, submission: { listen: [] }, dns: { servers: [dns] } }
  const made = await setUpDaemon({ folder: home, domain, receives: true, settings })
  train(made.command, join(home, 'training'))
  const daemon = made.start({ flags: nodeFlags })
  await listening(made.ports.mx)
  const database = new Database(made.database, { readonly: true, fileMustExist: true })
  const settled = database.prepare("SELECT count(*) FROM inbound_emails WHERE status <> 'received'").pluck()
  return {
    port: made.ports.mx,
    pids: () => [daemon.pid],
    filed: () => settled.get(),
    verify: () => verify(database),
    stop: async () => {
      database.close()
      await stopDaemon(daemon)
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
function verify(database) {
  const found = database
    .prepare('SELECT spf_result, dkim_result, dmarc_result, status, spam_report FROM inbound_emails')
    .get()
  const { spf_result: spf, dkim_result: dkim, dmarc_result: dmarc, status, spam_report: report } = found
  const good = [spf, dkim, dmarc].every((word) => word === 'pass') && status === 'processed' && report !== null
  if (!good) throw new Error(`Posthorn filed ${JSON.stringify(found)}`)
}
