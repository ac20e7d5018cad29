/**
 * Reads what Linux says of this machine and of one of its processes: addresses, memory, open files, limits of its
 * group.
 *
 * Null stands for what the system does not say, as outside Linux or about a process of another user.
 */
import { readdir, readFile, statfs } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'

const KIBIBYTE = 1_024

/** The addresses of all interfaces. */
export function listOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address))
}

interface InodeCounts {
  readonly free: number
  /** 0 if the file system has no fixed number of them. */
  readonly total: number
}

export async function readInodes(path: string): Promise<InodeCounts> {
  const { ffree, files } = await statfs(path)
  return { free: ffree, total: files }
}

interface MachineMemory {
  /** Bytes that can be had without swapping. */
  readonly available: number
  readonly total: number
}

export async function readMachineMemory(): Promise<MachineMemory | null> {
  const text = await readText('/proc/meminfo')
  const [available, total] = [readField(text, 'MemAvailable'), readField(text, 'MemTotal')]
  return available === null || total === null ? null : { available: available * KIBIBYTE, total: total * KIBIBYTE }
}

interface OpenFiles {
  readonly open: number
  readonly limit: number
}

export async function readOpenFiles(pid: number): Promise<OpenFiles | null> {
  const limits = await readText(`/proc/${pid}/limits`)
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  const open = await readdir(`/proc/${pid}/fd`).then(
    ({ length }) => length,
    () => null,
  )
  if (limit === undefined || open === null) return null
  return { open, limit: limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit) }
}

interface GroupMemory {
  /** Bytes. Infinity if there is no limit. */
  readonly limit: number
  /** Processes that the kernel killed because the group was full, since it was made. */
  readonly kills: number
}

/** Reads the memory of the control group (version 2) of a process, such as its systemd unit. */
export async function readGroupMemory(pid: number): Promise<GroupMemory | null> {
  const group = /^0::(\/\S*)$/m.exec(await readText(`/proc/${pid}/cgroup`))?.[1]
  if (group === undefined) return null
  const folder = join('/sys/fs/cgroup', group)
  const limit = (await readText(join(folder, 'memory.max'))).trim()
  if (limit === '') return null
  const kills = readField(await readText(join(folder, 'memory.events')), 'oom_kill') ?? 0
  return { limit: limit === 'max' ? Number.POSITIVE_INFINITY : Number(limit), kills }
}

/** Empty if there is no such file, or it may not be read. */
function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}

function readField(text: string, name: string): number | null {
  for (const line of text.split('\n')) {
    const [field = '', value = ''] = line.trim().split(/[:\s]+/)
    if (field === name && /^\d+$/.test(value)) return Number(value)
  }
  return null
}
