/**
 * Imports that go on behind their request: a few at once, one of each workspace, in the order in
 * which they were asked for.
 *
 * What the stop or a crash cuts off goes on at the next start, behind the last portion on disk. A
 * disk that takes no writes is waited for. Any other fault of ours is tried again twice, then the
 * import has failed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../mail/refusal.js'
import type { Log } from '../platform/log.js'
import { unlessMissed } from '../storage/writer/unless-missed.js'
import { StorageFault } from '../storage/writer/write.js'
import { type ImportPlace, removeFile, removeLeftFiles } from './import-file.js'
import { failImport, type ImportError, importById, importsUnderWay } from './import-records.js'
import { type ImportDeps, ImportEnded, runImport } from './run-import.js'

export interface RunnerDeps extends ImportDeps {
  readonly log: Pick<Log, 'error' | 'info'>
  /** Milliseconds after a fault. */
  readonly pause?: number
}

export interface ImportRunner {
  /** Takes up what was cut off. No request may be bringing a file before it resolves. */
  readonly start: () => Promise<void>
  /** It is on disk. */
  readonly begin: (place: ImportPlace) => void
  /** Each ends after its commit. */
  readonly stop: () => Promise<void>
}

const AT_ONCE = 3
const PAUSE = 10_000
const MOST_FAULTS = 3
const PAGE = 500

export function importRunner(deps: RunnerDeps): ImportRunner {
  const { read, log } = deps
  const ended = new AbortController()
  /** By workspace, in the order of their turns; the first of a list is the one that runs. */
  const waiting = new Map<string, ImportPlace[]>()
  const running = new Map<string, Promise<void>>()

  function add(place: ImportPlace): void {
    const list = waiting.get(place.workspaceId) ?? []
    list.push(place)
    waiting.set(place.workspaceId, list)
  }

  function pump(): void {
    for (const [workspaceId, list] of waiting) {
      if (running.size >= AT_ONCE || ended.signal.aborted) return
      const place = running.has(workspaceId) ? undefined : list.shift()
      if (list.length === 0) waiting.delete(workspaceId)
      if (place === undefined) continue
      const run = toItsEnd(deps, place, ended.signal).finally(() => {
        running.delete(workspaceId)
        pump()
      })
      running.set(workspaceId, run)
    }
  }

  return {
    start: async () => {
      let page = importsUnderWay(read, { after: '', limit: PAGE })
      while (page.length > 0) {
        for (const place of page) add(place)
        page = importsUnderWay(read, { after: page.at(-1)?.id ?? '', limit: PAGE })
      }
      const isUnderWay = (place: ImportPlace): boolean => importById(read, place)[0]?.status === 'processing'
      await removeLeftFiles(deps, isUnderWay, ended.signal).catch((err: unknown) =>
        log.error({ err }, 'files of imports that are over cannot be removed now'),
      )
      pump()
    },
    begin: (place) => {
      add(place)
      pump()
    },
    stop: async () => {
      ended.abort()
      await Promise.all(running.values())
    },
  }
}

/** Never rejects. */
async function toItsEnd(deps: RunnerDeps, place: ImportPlace, signal: AbortSignal): Promise<void> {
  const { read, log, pause = PAUSE } = deps
  const about = { import: place.id, workspace: place.workspaceId }
  for (let faults = 0; !signal.aborted; ) {
    try {
      const [row] = importById(read, place)
      if (row?.status === 'processing') await runImport(deps, row, signal)
      return await removeFile(deps, place)
    } catch (err) {
      if (signal.aborted) return
      if (!(err instanceof StorageFault)) faults += 1
      if (err instanceof ImportEnded) continue
      const why = err instanceof Refusal || faults >= MOST_FAULTS ? errorOf(err) : null
      if (!(err instanceof Refusal)) log.error({ err, ...about }, 'an import breaks off')
      if (why !== null && (await failed(deps, place, why))) continue
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }
}

function errorOf(err: unknown): ImportError {
  if (err instanceof Refusal) return { kind: err.kind, message: err.message }
  return { kind: 'internal', message: 'internal error' }
}

/** Resolves to whether that is on disk. */
async function failed({ commit, clock, log }: RunnerDeps, place: ImportPlace, why: ImportError): Promise<boolean> {
  try {
    await unlessMissed(commit([failImport({ ...place, at: clock(), error: JSON.stringify(why) })]))
    log.info({ import: place.id, workspace: place.workspaceId, why: why.message }, 'an import has failed')
    return true
  } catch (err) {
    log.error({ err, import: place.id }, 'an import cannot be marked as failed now')
    return false
  }
}
