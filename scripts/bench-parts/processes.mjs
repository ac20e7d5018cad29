// Ports and processes: what a server's whole process tree used, read from /proc.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('data', () => resolve(true)).once('error', () => resolve(false))
      socket.once('data', () => socket.destroy())
    })
    if (open) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`no program listens on port ${port}`)
}

/** A program that is given a port and more words, as a side of a comparison; resolves once it listens. */
export async function startProgram(program, ...words) {
  const port = await freePort()
  const child = spawn(process.execPath, [program, String(port), ...words], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  await listening(port)
  return {
    port,
    pids: () => [child.pid],
    stop: async () => {
      child.kill()
      await ended
    },
  }
}

/**
 * Samples a process tree five times a second: its peak memory (sum of resident sets), and
 * its CPU time. Processes that came and went between two samples are not seen, which
 * flatters a server of many short-lived processes.
 */
export function watchTree(roots) {
  const cpu = new Map()
  const before = new Map(tree(roots).map(({ pid, ticks }) => [pid, ticks]))
  let peak = 0
  const sample = () => {
    let sum = 0
    for (const { pid, ticks, pages } of tree(roots)) {
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
      return { megabytes: (peak * 4096) / 1_048_576, cpu: ticks / TICKS }
    },
  }
}

/** The memory of a process tree now. */
export function residentMegabytes(roots) {
  return (tree(roots).reduce((sum, { pages }) => sum + pages, 0) * 4096) / 1_048_576
}

function tree(roots) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => stat(Number(name)))
  const descendants = new Set(roots)
  for (let grown = true; grown; ) {
    grown = false
    for (const { pid, parent } of all) {
      if (descendants.has(pid) || !descendants.has(parent)) continue
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
