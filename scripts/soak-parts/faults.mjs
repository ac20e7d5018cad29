// The faults as data. `run` causes one, waits, and undoes it; `needs` names the tools without which it is left out;
// `explains` are the error lines of the log that it may cause; `isDeadly`: the daemon may die of it.
import { setTimeout as sleep } from 'node:timers/promises'
import { attachStrace, countDescriptors, listChildren, listThreads, readLimit, readUse, setLimit } from './machine.mjs'
import { serverFaults } from './server-faults.mjs'

const SECONDS = 1_000
const MB = 1_048_576

const network = []
/** The database refuses writes, or they take long. */
const storage = [
  /^the database takes (no )?writes/,
  /^the disk (is nearly full|has room again)/,
  /cannot be (read|written|stored|recorded|saved|processed|postponed|removed|acknowledged|checked|applied|marked)/,
  /could not be (recorded|stored|processed|written|released)/,
  /^(submission|receiving mail|housekeeping) failed$/,
  /^a request failed on our side$/,
  /^attempt failed on our side$/,
  /cannot (go on|work|be worked on)( now)?$/,
  /^an (export|import) was interrupted$/,
  /^an attempt to deliver an event was interrupted$/,
  /^status\.json cannot be written$/,
]

/** A message that is in hand at two deaths is not read again. */
const crashes = [/^a message is filed as failed, unread/]

function dnsFault(mode, what) {
  return {
    ...{ name: `DNS ${mode}`, what, explains: network },
    run: async ({ dns }) => {
      dns.state.mode = mode
      await sleep(12 * SECONDS)
      dns.state.mode = 'ok'
    },
  }
}

function sinkFault(mode, what, seconds = 12) {
  return {
    ...{ name: `MX ${mode}`, what, explains: network },
    run: async ({ sink }) => {
      await sink.setMode(mode)
      await sleep(seconds * SECONDS)
      await sink.setMode('ok')
    },
  }
}

function injected(name, what, words, explains = storage) {
  return {
    ...{ name, what, explains, needs: ['strace', 'file'] },
    run: async ({ daemon }) => {
      const calls = words.slice(0, words.indexOf(':'))
      const strace = await attachStrace([
        '-f',
        '-p',
        String(daemon.pid),
        '-e',
        `trace=${calls}`,
        '-e',
        `inject=${words}`,
      ])
      await sleep(8 * SECONDS)
      return strace.detach()
    },
  }
}

function clockFault(name, seconds, what) {
  return {
    ...{ name: `clock ${name}`, what, explains: [], needs: ['faketime'] },
    run: async ({ clock }) => {
      clock.set(seconds)
      await sleep(12 * SECONDS)
      clock.set(0)
      await sleep(4 * SECONDS)
    },
  }
}

async function killDaemon({ daemon, random }) {
  for (let times = 0; times < 3; times += 1) {
    process.kill(daemon.pid, 'SIGKILL')
    await sleep(500)
    await daemon.serving(60)
    await sleep(500 + random() * 4 * SECONDS)
  }
}

async function stopDaemon({ daemon }) {
  process.kill(daemon.pid, 'SIGSTOP')
  await sleep(9 * SECONDS)
  process.kill(daemon.pid, 'SIGCONT')
  await sleep(3 * SECONDS)
}

/** Each thread but the first is held for three seconds at its next system call, one after the other, so some at a time. */
async function stopThreads({ daemon }) {
  const { pid } = daemon
  const held = []
  for (const thread of listThreads(pid).filter((id) => id !== pid)) {
    held.push(
      await attachStrace(['-p', String(thread), '-e', 'trace=all', '-e', 'inject=all:delay_enter=3000000:when=1']),
    )
    await sleep(700)
  }
  await sleep(4 * SECONDS)
  // A thread may have ended meanwhile.
  await Promise.all(held.map(({ detach }) => detach()))
  return `${held.length} threads`
}

async function stopChildren({ daemon }) {
  const children = listChildren(daemon.pid)
  for (const child of children) process.kill(child, 'SIGSTOP')
  await sleep(8 * SECONDS)
  const left = listChildren(daemon.pid)
  for (const child of left) process.kill(child, 'SIGCONT')
  await sleep(2 * SECONDS)
  for (const child of listChildren(daemon.pid)) process.kill(child, 'SIGKILL')
  await sleep(4 * SECONDS)
  return `${children.length} processes`
}

async function fillDisk({ disk, postgres, cuts }) {
  const from = Date.now()
  disk.leave(600 * MB)
  await sleep(5 * SECONDS)
  disk.leave(0)
  await sleep(8 * SECONDS)
  disk.restore()
  // PostgreSQL ends itself when it cannot write its log.
  const hasEnded = postgres !== null && !postgres.server.isRunning
  if (hasEnded) {
    await postgres.server.restart()
    cuts.push({ from, to: Date.now() })
  }
  await sleep(2 * SECONDS)
  return hasEnded ? 'PostgreSQL had ended and was started again' : ''
}

async function limitDescriptors({ daemon }) {
  const before = readLimit(daemon.pid, 'Max open files')
  const open = countDescriptors(daemon.pid)
  // Those that are open stay; a new one needs a number below the limit.
  setLimit(daemon.pid, 'nofile', Math.floor(open * 0.6))
  await sleep(10 * SECONDS)
  setLimit(daemon.pid, 'nofile', before)
  await sleep(2 * SECONDS)
  return `${open} were open`
}

async function limitMemory({ daemon }) {
  const { pid } = daemon
  setLimit(pid, 'as', (readUse(pid)?.virtual ?? 0) + 24 * MB)
  await sleep(12 * SECONDS)
  // Another process, if the first one has died, has no limit.
  if (daemon.pid === pid) setLimit(pid, 'as', 'unlimited')
  await daemon.serving(60)
  return daemon.pid === pid ? 'the daemon lived on' : 'the daemon died and was started again'
}

async function failEndpoint({ endpoint }) {
  endpoint.state.mode = 'failing'
  await sleep(6 * SECONDS)
  endpoint.state.mode = 'slow'
  await sleep(6 * SECONDS)
  endpoint.state.mode = 'ok'
}

const descriptors = [...storage, /listener/, /thread/, /process/]

export const allFaults = [
  dnsFault('silent', 'no DNS server answers'),
  sinkFault('down', 'MX hosts refuse connections'),
  injected('EIO at fsync', '`fsync` and `fdatasync` fail with EIO', 'fsync,fdatasync:error=EIO'),
  sinkFault('slow', 'each reply of MX hosts takes 1.5 s'),
  clockFault('+1 h', 3_600, 'the clock steps an hour forward, and back'),
  dnsFault('slow', 'DNS answers after 2.5 s'),
  { name: 'daemon stopped', what: 'SIGSTOP for 9 s, then SIGCONT', explains: [], run: stopDaemon },
  sinkFault('resetting', 'MX hosts reset connections, also before and after the final dot'),
  { name: 'disk full', what: 'the disk is nearly full, then full', needs: ['disk'], explains: storage, run: fillDisk },
  dnsFault('failing', 'DNS answers SERVFAIL and REFUSED'),
  { name: 'SIGKILL', what: 'three times, seconds apart', isDeadly: true, explains: crashes, run: killDaemon },
  sinkFault('tarpit', 'MX hosts send a byte each 0.7 s'),
  clockFault('-1 h', -3_600, 'the clock steps an hour back, and forward'),
  injected('ENOSPC at pwrite', '`pwrite64` fails with ENOSPC', 'pwrite64:error=ENOSPC'),
  dnsFault('lying', 'DNS answers garbage, wrong ids, loops, private addresses, and that names do not exist'),
  sinkFault('silent', 'MX hosts accept connections and say nothing'),
  {
    name: 'threads stopped',
    what: 'each thread but the main one is held for 3 s',
    needs: ['strace'],
    explains: storage,
    run: stopThreads,
  },
  { name: 'webhook endpoint failing', what: 'it answers 500, then after 4 s', explains: network, run: failEndpoint },
  injected('EIO at pwrite', '`pwrite64` fails with EIO', 'pwrite64:error=EIO'),
  sinkFault('busy', 'MX hosts refuse temporarily (4xx)'),
  clockFault('+1 d', 86_400, 'the clock steps a day forward, and back'),
  {
    name: 'children stopped',
    what: 'the processes that parse messages are stopped, then killed',
    explains: [],
    run: stopChildren,
  },
  injected('slow fsync', '`fsync` and `fdatasync` take 1 s more', 'fsync,fdatasync:delay_enter=1000000', storage),
  {
    name: 'few descriptors',
    what: '`prlimit --nofile`: fewer descriptors than are open, so that none can be added',
    needs: ['prlimit'],
    explains: descriptors,
    run: limitDescriptors,
  },
  {
    name: 'little memory',
    what: 'no more than 24 MB of further address space',
    needs: ['prlimit'],
    isDeadly: true,
    explains: [/./],
    run: limitMemory,
  },
  ...serverFaults,
]
