/** A line on standard error that says how far a backup is: rewritten at a terminal, a line every ten percent elsewhere. */
import type { BackupProgress } from '../../../base/storage/maintenance/backup.js'

interface ProgressLine {
  readonly update: (progress: BackupProgress) => void
  readonly end: () => void
}

interface Options {
  readonly print: (text: string) => void
  readonly isTerminal: boolean
  /** Milliseconds. */
  readonly now?: () => number
}

/** Milliseconds between two updates at a terminal. */
const UPDATE_INTERVAL = 250

export function createProgressLine({ print, isTerminal, now = () => performance.now() }: Options): ProgressLine {
  const begun = now()
  let shownAt = Number.NEGATIVE_INFINITY
  let shownTenth = -1
  let shownPhase: BackupProgress['phase'] = 'copy'
  const isDue = ({ phase, bytes, total }: BackupProgress): boolean => {
    if (phase !== shownPhase) return true
    return isTerminal ? now() - shownAt >= UPDATE_INTERVAL : Math.floor((bytes / total) * 10) > shownTenth
  }
  return {
    update: (progress) => {
      if (!isDue(progress)) return
      shownAt = now()
      shownPhase = progress.phase
      shownTenth = Math.floor((progress.bytes / progress.total) * 10)
      const text = formatProgress(progress, now() - begun)
      print(isTerminal ? `\r${text}\u001b[K` : `${text}\n`)
    },
    end: () => {
      if (isTerminal && shownAt > 0) print('\n')
    },
  }
}

/** `took` is the number of milliseconds since the beginning. */
export function formatProgress({ phase, bytes, total }: BackupProgress, took: number): string {
  if (phase === 'check') return `checking ${formatMegabytes(total)}`
  const percent = total === 0 ? 100 : Math.floor((bytes / total) * 100)
  if (phase === 'fold') return `${formatMegabytes(bytes)} of ${formatMegabytes(total)} of the spool, ${percent} %`
  const left = bytes === 0 ? '' : `, ${formatSeconds((took / bytes) * (total - bytes))} left`
  return `${formatMegabytes(bytes)} of ${formatMegabytes(total)}, ${percent} %${left}`
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}

function formatSeconds(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
