// The daemon on the filled database, in a process of its own: node daemon.mjs FOLDER WORKSPACE EMAIL PASSWORD. It tells
// its port, and between two messages `begin` and `end` of its parent the CPU that its process took, that which it took
// during its longest statement, and how long the main thread was held up by anything.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import SQLite from 'better-sqlite3'
import { pino } from 'pino'
import { stringify } from 'smol-toml'
import { parseConfig } from '../../dist/src/base/config/load.js'
import { startDaemon } from '../../dist/src/operations/daemon/daemon.js'
import { createPasswordHasher } from '../../dist/src/workspaces/accounts/people/passwords.js'
import { setPassword, userByEmail } from '../../dist/src/workspaces/accounts/people/users.js'
import { setOperatorWorkspace } from '../../dist/src/workspaces/accounts/workspace/operator-workspace.js'

const [folder, workspaceId, email, password] = process.argv.slice(2)

/** Statements of the main thread since `begin`, and the longest of them. */
let watched = emptyWatch()
const delay = monitorEventLoopDelay({ resolution: 1 })

function emptyWatch() {
  return { statements: 0, longest: 0, sql: '', cpu: process.cpuUsage() }
}

/** Of CPU: other work on the machine does not count. */
function millisecondsSince(begun) {
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}

function watchStatements() {
  const db = new SQLite(':memory:')
  const prototype = Object.getPrototypeOf(db.prepare('select 1'))
  db.close()
  for (const name of ['all', 'get', 'run']) {
    const original = prototype[name]
    prototype[name] = function (...values) {
      const begun = process.cpuUsage()
      const result = original.apply(this, values)
      const took = millisecondsSince(begun)
      watched.statements += 1
      if (took > watched.longest) Object.assign(watched, { longest: took, sql: this.source })
      return result
    }
  }
}

watchStatements()
const listen = ['127.0.0.1:0']
const settings = stringify({
  service: { hostname: 'mail.service.test', data_dir: folder },
  submission: { listen, listen_tls: listen },
  ...{ api: { listen }, inbound: { listen }, retention: { messages: '400d', events: '400d' } },
})
const place = { hostname: 'test', home: folder, isRoot: false, stateHome: undefined }
const { config } = parseConfig(settings, 'none', place)
const daemon = await startDaemon({
  ...{ config, clock: Date.now, log: pino({ level: 'silent' }) },
  stopTimeouts: { listeners: 100, delivery: 100 },
})
const { read, commit } = daemon.database
const [user] = await userByEmail(read, { email })
await commit([
  setOperatorWorkspace(workspaceId),
  setPassword({ id: user.id, hash: await createPasswordHasher().hash(password) }),
])
delay.enable()

process.on('message', async (message) => {
  if (message === 'begin') {
    watched = emptyWatch()
    delay.reset()
    process.send({})
  } else if (message === 'end') {
    process.send({ ...watched, cpu: millisecondsSince(watched.cpu), block: delay.max / 1e6 })
  } else {
    await daemon.stop()
    process.disconnect()
  }
})
// Its parent is gone.
process.on('disconnect', () => process.exit())
process.send({ port: daemon.api[0].port })
