// Faults of a server of PostgreSQL that has the data of the daemon, as data; faults.mjs tells what their fields mean.
import { setTimeout as sleep } from 'node:timers/promises'

const SECONDS = 1_000

/** What the daemon logs while its database does not answer. */
const absence = [
  /^the database (takes|does|is|has|cannot)/,
  /cannot be (read|written|stored|recorded|saved|processed|postponed|removed|acknowledged|checked|applied|marked)/,
  /could not be (answered|recorded|stored|processed|written|released|built)/,
  /^attempt failed on our side$/,
  /^(submission|receiving mail|housekeeping) failed$/,
  /^a request failed on our side$/,
  /cannot (go on|work|be worked on|be found)( now)?$/,
  /^an (export|import) was interrupted$/,
]

function serverFault(name, what, change) {
  return {
    ...{ name: `database ${name}`, what, explains: absence, needs: ['server'] },
    run: async ({ postgres, cuts }) => {
      const from = Date.now()
      try {
        return await change(postgres)
      } finally {
        cuts.push({ from, to: Date.now() })
        await sleep(2 * SECONDS)
      }
    },
  }
}

/** Ends the sessions of the daemon, as an administrator or a balancer does. */
async function endSessions({ server, database }) {
  let ended = 0
  for (let times = 0; times < 4; times += 1) {
    const rows = await server.run(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and pid <> pg_backend_pid()`,
    )
    ended += rows.length
    await sleep(2 * SECONDS)
  }
  return `${ended} sessions`
}

async function stopServer({ server }) {
  server.freeze()
  await sleep(9 * SECONDS)
  server.thaw()
}

async function loseNetwork({ relay }) {
  await relay.cut(true)
  await sleep(9 * SECONDS)
  await relay.cut(false)
}

export const serverFaults = [
  serverFault('crashed', 'PostgreSQL ends as by a crash, and starts again after 6 s', (postgres) =>
    postgres.cut({ pause: 6 * SECONDS, muted: 0 }),
  ),
  serverFault('crashed, unheard', 'the same, and its last answers are lost', (postgres) =>
    postgres.cut({ pause: 2 * SECONDS, muted: 300 }),
  ),
  serverFault('stopped', 'SIGSTOP to PostgreSQL for 9 s, then SIGCONT', stopServer),
  serverFault(
    'cut off',
    'nothing passes between daemon and PostgreSQL for 9 s, and old connections stay lost',
    loseNetwork,
  ),
  serverFault('ending sessions', 'PostgreSQL ends all sessions, four times', endSessions),
]
