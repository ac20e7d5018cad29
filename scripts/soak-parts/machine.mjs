// What the faults need of the machine: a small disk, threads that can be stopped, system calls that fail, limits.
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
const MB = 1_048_576

/** The tools that are there. */
export function findTools() {
  const has = (name, flag) => {
    try {
      execFileSync(name, [flag], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  }
  const library = process.env['SOAK_FAKETIME'] ?? LIBRARY
  return {
    strace: has('strace', '--version'),
    prlimit: has('prlimit', '--version'),
    faketime: existsSync(library) ? library : null,
    root: process.getuid() === 0,
  }
}

/** A tmpfs whose size can be changed while it is used; null: it cannot be mounted here. */
export function mountSmallDisk(parent, megabytes) {
  const path = mkdtempSync(join(parent, 'disk-'))
  const mount = (...words) => execFileSync('mount', words, { stdio: 'pipe' })
  try {
    mount('-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', path)
  } catch {
    rmdirSync(path)
    return null
  }
  const resize = (size) => mount('-o', `remount,size=${size}`, path)
  return {
    path,
    /** Leaves so many bytes. */
    leave: (bytes) => {
      const { blocks, bfree, bsize } = statfsSync(path)
      resize(Math.ceil(((blocks - bfree) * bsize + bytes) / 4096) * 4096)
    },
    restore: () => resize(megabytes * MB),
    unmount: () => {
      execFileSync('umount', [path])
      rmdirSync(path)
    },
    /** Where it is still mounted: it goes as soon as the killed daemon has ended. */
    release: () => {
      if (!existsSync(path)) return
      execFileSync('umount', ['--lazy', path], { stdio: 'ignore' })
      rmdirSync(path)
    },
  }
}

/** The clock of the processes that are started with `environment`; `set` takes seconds. */
export function createFakeClock(folder, library) {
  const file = join(folder, 'clock')
  const set = (seconds) => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  set(0)
  return {
    set,
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
    },
    close: () => rmSync(file, { force: true }),
  }
}

/** strace on a process or a thread, until `detach`. */
export async function attachStrace(words) {
  const child = spawn('strace', ['-qq', '-o', '/dev/null', ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = new Promise((done) => child.once('exit', done))
  return {
    /** What it complained about. */
    detach: async () => {
      child.kill('SIGINT')
      const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await ended
      clearTimeout(late)
      return said.trim()
    },
  }
}

export function listThreads(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return []
  }
}

export function listChildren(pid) {
  return listThreads(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).trim().split(' ').filter(Boolean).map(Number),
  )
}

/** Null: the process has exited. */
export function readUse(pid) {
  const status = read(`/proc/${pid}/status`)
  const kilobytes = (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  if (kilobytes('VmRSS') === 0) return null
  const children = listChildren(pid)
  const childrenRss = children.reduce(
    (sum, child) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${child}/status`))?.[1] ?? 0),
    0,
  )
  return {
    rss: kilobytes('VmRSS') / 1024,
    virtual: kilobytes('VmSize') * 1024,
    threads: kilobytes('Threads'),
    descriptors: countDescriptors(pid),
    children: children.length,
    childrenRss: childrenRss / 1024,
  }
}

export function countDescriptors(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

/** `limit`: "nofile" or "as"; the soft limit alone, so that it can be raised again. */
export function setLimit(pid, limit, value) {
  execFileSync('prlimit', ['--pid', String(pid), `--${limit}=${value}:`], { stdio: 'pipe' })
}

export function readLimit(pid, name) {
  return new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(read(`/proc/${pid}/limits`))?.[1] ?? 'unlimited'
}

function read(file) {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
