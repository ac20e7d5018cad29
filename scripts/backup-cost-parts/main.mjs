// Measures the relay of the bench three times a round: alone, with one backup after the other, and with a standby folder.
//
// The database holds `--stored` megabytes before, so that a backup has something to copy all the time.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import SQLite from 'better-sqlite3'
import { median } from '../bench-parts/compare.mjs'
import { measureRelay } from '../bench-parts/measure.mjs'
import { posthorn } from '../bench-parts/posthorn.mjs'

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '5000' },
    'warm-up': { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
    stored: { type: 'string', default: '300' },
    disk: { type: 'string', default: '.' },
  },
})
const folder = mkdtempSync(join(resolve(values.disk), '.backup-cost-'))
const program = resolve('dist/src/main.js')
const how = { folder, messages: Number(values.messages), warmUp: Number(values['warm-up']), size: 4096, sessions: 20 }
const rates = { alone: [], backup: [], standby: [] }
let backups = 0
try {
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const side of Object.keys(rates)) {
      const { rate } = await measureRelay({ start: (asked) => start(side, asked) }, how)
      rates[side].push(rate)
      console.log(`round ${round}, ${side.padEnd(8)} ${rate.toFixed(0)} messages/s`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const side of ['backup', 'standby']) {
  const each = rates[side].map((rate, round) => rate / rates.alone[round])
  const ratio = median(rates[side]) / median(rates.alone)
  console.log(
    `${side}: ratio of medians to the relay alone ${ratio.toFixed(2)} (of each round: ${each.map((one) => one.toFixed(2)).join(', ')})`,
  )
}
console.log(`${backups} backups were complete`)

async function start(side, asked) {
  const standby = join(folder, `standby-${process.hrtime.bigint()}`)
  mkdirSync(standby)
  const settings = side === 'standby' ? `[standby]\nfolder = ${JSON.stringify(standby)}\n` : ''
  const server = await posthorn.start({ ...asked, settings, prepare: fill })
  const backup = side === 'backup' ? backUpAgainAndAgain(server.config, standby) : { stop: () => undefined }
  return {
    ...server,
    stop: async () => {
      await backup.stop()
      await server.stop()
    },
  }
}

/** Messages without an email, which nothing reads. */
function fill({ database, workspaceId }) {
  const db = new SQLite(database)
  const columns = db.prepare(`select name from pragma_table_info('raw_messages')`).pluck().all()
  const insert = db.prepare(
    `insert into raw_messages (${columns.join(', ')}) values (${columns.map((name) => `@${name}`).join(', ')})`,
  )
  db.transaction(() => {
    for (let n = 0; n < Number(values.stored) * 16; n += 1) {
      const row = Object.fromEntries(columns.map((name) => [name, null]))
      insert.run({
        ...row,
        email_id: `filled-${n}`,
        workspace_id: workspaceId,
        created_at: Date.now(),
        raw: Buffer.alloc(65_000, n),
      })
    }
  })()
  db.close()
}

function backUpAgainAndAgain(config, into) {
  let isOver = false
  let child = null
  const running = (async () => {
    for (let n = 0; !isOver; n += 1) {
      const file = join(into, `${n}.db`)
      child = spawn(process.execPath, [program, 'backup', file, '--config', config], {
        stdio: ['ignore', 'ignore', 'inherit'],
        detached: true,
      })
      const [status] = await once(child, 'exit')
      if (status === 0) backups += 1
      else if (!isOver) throw new Error(`the backup ended with ${status}`)
      rmSync(file, { force: true })
    }
  })()
  return {
    stop: async () => {
      isOver = true
      child?.kill('SIGTERM')
      await running
    },
  }
}
