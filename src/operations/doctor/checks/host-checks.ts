/** Checks the machine: room and inodes of the disk, memory, and how many files the daemon may open. */
import type { Config } from '../../../base/config/complete.js'
import { type DiskSpace, readDiskSpace } from '../../../base/platform/disk-space.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { isStatusFresh, readDaemonStatus } from '../../../base/platform/processes/daemon-status.js'
import {
  readGroupMemory,
  readInodes,
  readMachineMemory,
  readOpenFiles,
} from '../../../base/platform/processes/host-facts.js'
import { hasEnoughSpace, thresholdText } from '../../../base/storage/health/disk-guard.js'
import { SLOW_PER_SLOT } from '../../../outbound/delivery/queue/attempt-slots.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, undecided, warning } from '../finding.js'

const MEBIBYTE = 1_048_576
/** Shares of the disk. */
const [LITTLE_SPACE, LITTLE_INODES, NO_INODES] = [0.1, 0.1, 0.02]
/** Bytes of memory that are available. */
const [LITTLE_MEMORY, NO_MEMORY] = [256 * MEBIBYTE, 64 * MEBIBYTE]
/** Bytes that the unit's limit should leave to the daemon and its children (docs/operations.md). */
const MIN_MEMORY_LIMIT = 640 * MEBIBYTE
/** Files besides connections: database, log, threads, spool files. */
const OTHER_FILES = 256
const FULL_SHARE = 0.8

export const hostChecks: readonly Check[] = [
  { name: 'disk', summary: 'the disk of the data folder has free space', run: ({ config }) => checkDisk(config) },
  {
    name: 'inodes',
    summary: 'the disk of the data folder can take more files',
    run: ({ config }) => checkInodes(config),
  },
  { name: 'memory', summary: 'the machine and the unit have free memory', run: checkMemory },
  { name: 'files', summary: 'the daemon may open as many files as its limits of connections need', run: checkFiles },
]

async function checkDisk({ service }: Config): Promise<readonly Judgement[]> {
  const path = service.data_dir
  try {
    return [judgeDisk(path, await readDiskSpace(path))]
  } catch (error) {
    return [failure(path, errorMessageOf(error), [`install -d -o posthorn -g posthorn -m 0700 ${path}`])]
  }
}

export function judgeDisk(path: string, space: DiskSpace): Judgement {
  const { free, total } = space
  const text = `${formatSize(free)} of ${formatSize(total)} are free`
  const remedy: Remedy = [
    `du -xh ${path} | sort -h | tail`,
    '# shorten retention.messages and retention.events, or make the disk larger',
  ]
  if (!hasEnoughSpace(space)) return failure(path, `${text}: no new mail is accepted (${thresholdText})`, remedy)
  return free < total * LITTLE_SPACE ? warning(path, text, remedy) : good(path, text)
}

async function checkInodes({ service }: Config): Promise<readonly Judgement[]> {
  const path = service.data_dir
  try {
    return [judgeInodes(path, await readInodes(path))]
  } catch {
    // The check `disk` says so.
    return []
  }
}

export function judgeInodes(
  path: string,
  { free, total }: { readonly free: number; readonly total: number },
): Judgement {
  if (total === 0) return good(path, 'the file system has no fixed number of inodes')
  const text = `${free} of ${total} inodes are free`
  const remedy: Remedy = [`df -i ${path}`, `du --inodes -x ${path} | sort -n | tail`]
  if (free < total * NO_INODES) return failure(path, text, remedy)
  return free < total * LITTLE_INODES ? warning(path, text, remedy) : good(path, text)
}

async function checkMemory({ config, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const machine = await readMachineMemory()
  const pid = await findDaemon(config, clock())
  const group = pid === null ? null : await readGroupMemory(pid)
  return [machine === null ? judgeNoMemory() : judgeMemory(machine), ...(group === null ? [] : [judgeGroup(group)])]
}

function judgeNoMemory(): Judgement {
  return undecided('machine', 'the system does not say how much memory there is', [
    'head -3 /proc/meminfo   # as the user posthorn: a container or a rule for the unit may hide it',
  ])
}

export function judgeMemory({ available, total }: { readonly available: number; readonly total: number }): Judgement {
  const text = `${formatSize(available)} of ${formatSize(total)} are available`
  const remedy: Remedy = [
    'ps -eo pid,rss,args --sort=-rss | head',
    '# stop what is not needed, or give the machine more memory',
  ]
  if (available < NO_MEMORY) return failure('machine', text, remedy)
  return available < LITTLE_MEMORY ? warning('machine', text, remedy) : good('machine', text)
}

export function judgeGroup({ limit, kills }: { readonly limit: number; readonly kills: number }): Judgement {
  const subject = 'unit'
  const raise: Remedy = ['systemctl set-property posthorn.service MemoryMax=1G']
  if (limit < MIN_MEMORY_LIMIT) {
    return warning(subject, `MemoryMax is ${formatSize(limit)}: with large messages the kernel ends processes`, raise)
  }
  if (kills > 0) {
    const times = kills === 1 ? 'once' : `${kills} times`
    return warning(subject, `the kernel ended a process ${times} because the unit's memory was full`, [
      'journalctl -k --grep=oom',
      ...(Number.isFinite(limit) ? raise : []),
    ])
  }
  return good(subject, Number.isFinite(limit) ? `MemoryMax is ${formatSize(limit)}` : 'the unit has no memory limit')
}

async function checkFiles({ config, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const pid = await findDaemon(config, clock())
  const files = await readOpenFiles(pid ?? process.pid)
  const subject = pid === null ? 'this shell' : 'daemon'
  if (files === null) {
    const look: Remedy = [`grep files /proc/${pid ?? 'self'}/limits   # as root, or as the user posthorn`]
    return [undecided(subject, 'the system does not say how many files it may open', look)]
  }
  return [judgeFiles(subject, pid === null ? { ...files, open: 0 } : files, countNeeded(config))]
}

/** Null if none is running. */
async function findDaemon({ service }: Config, now: number): Promise<number | null> {
  const status = await readDaemonStatus(service.data_dir)
  return status !== null && isStatusFresh(status, now) ? status.pid : null
}

function countNeeded({ api, submission, inbound, outbound }: Config): number {
  const accepted = api.max_connections + submission.max_connections + inbound.max_connections
  return accepted + outbound.max_connections * (1 + SLOW_PER_SLOT) + OTHER_FILES
}

export function judgeFiles(
  subject: string,
  { open, limit }: { readonly open: number; readonly limit: number },
  needed: number,
): Judgement {
  const text = `${open} files are open of ${Number.isFinite(limit) ? limit : 'any number'}; the limits of connections need ${needed}`
  const remedy: Remedy = ['systemctl edit posthorn', '[Service]', 'LimitNOFILE=65536']
  if (open > limit * FULL_SHARE) return failure(subject, text, remedy)
  return limit < needed ? warning(subject, text, remedy) : good(subject, text)
}

function formatSize(bytes: number): string {
  const gibibytes = bytes / (1_024 * MEBIBYTE)
  return gibibytes >= 1 ? `${gibibytes.toFixed(1)} GiB` : `${Math.round(bytes / MEBIBYTE)} MiB`
}
