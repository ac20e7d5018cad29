// Ports and processes: what a server's whole process tree used, read from /proc.
import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'

const TICKS = 100

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** Resolves once a program listens there. */
export async function listening(port) {
  for (let attempt = 0; attempt < 6000; attempt += 1) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('data', () => resolve(true)).once('error', () => resolve(false))
      socket.once('data', () => socket.destroy())
    })
    if (open) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`no program listens on port ${port}`)
}

/**
 * Samples a process tree five times a second: its peak memory (sum of resident sets), and
 * its CPU time, in seconds. Processes that came and went between two samples are not seen, which
 * flatters a server of many short-lived processes. `threads`: of each thread that lived throughout, the main thread of
 * the first process first, then those that used most; null if that process has one thread.
 * `except`: processes that do not count, nor do their children.
 */
export function watchTree(roots, except = []) {
  const cpu = new Map()
  const before = new Map(tree(roots, except).map(({ pid, ticks }) => [pid, ticks]))
  const threadsBefore = threadTimes(roots)
  let peak = 0
  const sample = () => {
    let sum = 0
    for (const { pid, ticks, pages } of tree(roots, except)) {
      cpu.set(pid, ticks - (before.get(pid) ?? 0))
      sum += pages
    }
    peak = Math.max(peak, sum)
  }
  const timer = setInterval(sample, 200)
  return {
    end: () => {
      clearInterval(timer)
      sample()
      const ticks = [...cpu.values()].reduce((sum, own) => sum + own, 0)
      return { megabytes: (peak * 4096) / 1_048_576, cpu: ticks / TICKS, threads: usedSince(threadsBefore, roots) }
    },
  }
}

function usedSince(before, roots) {
  const [first] = tree(roots.slice(0, 1))
  if (first === undefined || readdirSync(`/proc/${first.pid}/task`).length === 1) return null
  const after = threadTimes(roots)
  const used = [...before].filter(([id]) => after.has(id)).map(([id, time]) => [id, after.get(id) - time])
  const isMain = ([id]) => id === roots[0]
  return used.sort((a, b) => Number(isMain(b)) - Number(isMain(a)) || b[1] - a[1]).map(([, time]) => time)
}

/** Seconds of CPU by thread. */
function threadTimes(roots) {
  return new Map(
    tree(roots).flatMap(({ pid }) => {
      try {
        return readdirSync(`/proc/${pid}/task`).flatMap((id) => threadTime(pid, id))
      } catch {
        return []
      }
    }),
  )
}

/** None of a thread that has just ended. */
function threadTime(pid, id) {
  try {
    return [[Number(id), Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]) / 1e9]]
  } catch {
    return []
  }
}

/** The memory of a process tree now. */
export function residentMegabytes(roots) {
  return (tree(roots).reduce((sum, { pages }) => sum + pages, 0) * 4096) / 1_048_576
}

function tree(roots, except = []) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => stat(Number(name)))
  const descendants = new Set(roots)
  for (let grown = true; grown; ) {
    grown = false
    for (const { pid, parent } of all) {
      if (descendants.has(pid) || !descendants.has(parent) || except.includes(pid)) continue
      descendants.add(pid)
      grown = true
    }
  }
  return all.filter(({ pid }) => descendants.has(pid))
}

function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return [
      { pid, parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]), pages: Number(fields[21]) },
    ]
  } catch {
    return []
  }
}

/**
 * Until `end`, ten times a second: the peak of all resident sets together, with each of them at that moment; and as
 * `proportional` the peak with each shared page counted once, as a control group counts.
 */
export function watchMemory(root) {
  let found = { resident: 0, proportional: 0, processes: [] }
  const sample = () => {
    const all = tree([root])
    const processes = all.map(({ pages }) => (pages * 4096) / 1_048_576)
    const resident = processes.reduce((sum, megabytes) => sum + megabytes, 0)
    const proportional = Math.max(found.proportional, proportionalOf(all))
    found = resident > found.resident ? { resident, processes, proportional } : { ...found, proportional }
  }
  const timer = setInterval(sample, 100)
  return {
    end: () => {
      clearInterval(timer)
      sample()
      return found
    },
  }
}

function proportionalOf(processes) {
  const kilobytes = processes.map(({ pid }) => Number(/^Pss: +(\d+)/m.exec(readRollup(pid))?.[1] ?? 0))
  return kilobytes.reduce((sum, own) => sum + own, 0) / 1024
}

/** Empty: the process has exited. */
function readRollup(pid) {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
  } catch {
    return ''
  }
}
