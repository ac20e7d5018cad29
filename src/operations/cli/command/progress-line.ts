/** A line on standard error that says how far a backup is: rewritten at a terminal, a line every ten percent elsewhere. */
import type { BackupProgress } from '../../../base/storage/maintenance/backup.js'

interface Options {
  readonly print: (text: string) => void
  readonly isTerminal: boolean
  /** Milliseconds. */
  readonly now?: () => number
}

/** Milliseconds between two updates at a terminal. */
const UPDATE_INTERVAL = 250

export class ProgressLine {
  private readonly now: () => number
  private readonly begun: number
  private shownAt = Number.NEGATIVE_INFINITY
  private shownTenth = -1
  private shownPhase: BackupProgress['phase'] = 'copy'

  constructor(private readonly options: Options) {
    this.now = options.now ?? (() => performance.now())
    this.begun = this.now()
  }

  update(progress: BackupProgress): void {
    if (!this.isDue(progress)) return
    this.shownAt = this.now()
    this.shownPhase = progress.phase
    this.shownTenth = Math.floor((progress.bytes / progress.total) * 10)
    const text = formatProgress(progress, this.now() - this.begun)
    this.options.print(this.options.isTerminal ? `\r${text}\u001b[K` : `${text}\n`)
  }

  end(): void {
    if (this.options.isTerminal && this.shownAt > 0) this.options.print('\n')
  }

  private isDue({ phase, bytes, total }: BackupProgress): boolean {
    if (phase !== this.shownPhase) return true
    if (this.options.isTerminal) return this.now() - this.shownAt >= UPDATE_INTERVAL
    return Math.floor((bytes / total) * 10) > this.shownTenth
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
