/**
 * Writes every ten seconds what only this process knows about itself, for commands that run while the daemon runs
 * (`status.json`).
 */
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import {
  type DaemonStatus,
  removeDaemonStatus,
  STATUS_INTERVAL,
  writeDaemonStatus,
} from '../../base/platform/processes/daemon-status.js'
import type { ProcessMeter } from '../../base/platform/processes/process-meter.js'
import { version } from '../../base/platform/version.js'
import type { NodeState } from '../../base/storage/db/node-state.js'

interface StatusFileDeps {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly node: Pick<NodeState, 'name' | 'state' | 'leads'>
  readonly readProcess: ProcessMeter['read']
  readonly countCommits: () => number
  readonly countAttempts: () => number
  readonly countSessions: () => DaemonStatus['sessions']
}

/** Resolves when the first version is written. `stop` removes the file. A fault is logged once until a write succeeds. */
export async function startStatusFile(deps: StatusFileDeps): Promise<{ readonly stop: () => Promise<void> }> {
  const { folder, clock, log, countCommits } = deps
  let last = { at: clock(), commits: countCommits() }
  let failed = false
  const write = async (): Promise<void> => {
    const present = { at: clock(), commits: countCommits() }
    try {
      await writeDaemonStatus(folder, await describeStatus(deps, last, present))
      failed = false
    } catch (error) {
      if (!failed) log.error({ err: error }, 'status.json cannot be written')
      failed = true
    }
    last = present
  }
  await write()
  let writing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    writing = writing.then(write)
  }, STATUS_INTERVAL).unref()
  return {
    stop: async () => {
      clearInterval(timer)
      await writing
      await removeDaemonStatus(folder)
    },
  }
}

interface Reading {
  readonly at: number
  readonly commits: number
}

async function describeStatus(deps: StatusFileDeps, last: Reading, present: Reading): Promise<DaemonStatus> {
  const { uptime, rss, heapUsed, delays, load } = await deps.readProcess()
  const seconds = (present.at - last.at) / 1_000
  return {
    pid: process.pid,
    version,
    node: describeNode(deps.node),
    started_at: formatTimestamp(present.at - Math.round(uptime * 1_000)),
    updated_at: formatTimestamp(present.at),
    event_loop_delay_ms: delays,
    rss,
    heap_used: heapUsed,
    sessions: deps.countSessions(),
    attempts_under_way: deps.countAttempts(),
    commits: present.commits,
    rates: {
      commits_per_second: seconds > 0 ? Math.round(((present.commits - last.commits) / seconds) * 10) / 10 : 0,
      main_thread_load: Math.round(load * 1_000) / 1_000,
    },
  }
}

function describeNode({ name, state, leads }: StatusFileDeps['node']): DaemonStatus['node'] {
  return name === '' ? null : { name, state: state(), leads: leads() }
}
