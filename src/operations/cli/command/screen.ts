/**
 * The full screen of a terminal: its alternate screen without a cursor, drawn in place, and restored at the end.
 *
 * A frame is one write, within a synchronized update where the terminal knows it, and clears only what a line leaves, so
 * that nothing flickers. The screen is restored however the program ends, but by SIGKILL.
 */
import { maskControls } from './mask-controls.js'

interface TerminalInput {
  readonly setRawMode?: (raw: boolean) => unknown
  readonly on: (event: 'data', listener: (bytes: Buffer) => void) => unknown
  readonly off: (event: 'data', listener: (bytes: Buffer) => void) => unknown
  readonly resume: () => unknown
  readonly pause: () => unknown
}

interface TerminalOutput {
  readonly columns?: number
  readonly rows?: number
  readonly write: (text: string) => unknown
  readonly on: (event: 'resize', listener: () => void) => unknown
  readonly off: (event: 'resize', listener: () => void) => unknown
}

export interface Terminal {
  readonly input: TerminalInput
  readonly output: TerminalOutput
}

const ENTER = '\x1b[?1049h\x1b[?25l'
const LEAVE = '\x1b[?25h\x1b[?1049l'
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Numbers of the signals, for the exit status of a program that a signal ended. */
const signalNumbers = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const
/** Raw mode makes bytes of Ctrl-C and Ctrl-D. */
const quitKeys = ['q', 'Q', '\x03', '\x04'] as const
const DEFAULT_COLUMNS = 80
const DEFAULT_ROWS = 24

interface ScreenKeys {
  /** `q`, Ctrl-C, or the end of the input. */
  readonly onQuit: () => void
  readonly onResize: () => void
}

export class Screen {
  private isOpen = false
  private readonly readKey = (bytes: Buffer): void => {
    if (quitKeys.some((key) => bytes.includes(key))) this.keys.onQuit()
  }
  private readonly restore = (): void => this.close()
  private readonly endBySignal = (signal: (typeof signals)[number]): void => {
    this.close()
    process.exit(128 + signalNumbers[signal])
  }

  constructor(
    private readonly terminal: Terminal,
    private readonly keys: ScreenKeys,
  ) {}

  open(): void {
    const { input, output } = this.terminal
    this.isOpen = true
    output.write(ENTER)
    input.setRawMode?.(true)
    input.on('data', this.readKey)
    input.resume()
    output.on('resize', this.keys.onResize)
    process.on('exit', this.restore)
    for (const signal of signals) process.on(signal, this.endBySignal)
  }

  /** Lines that do not fit are cut, and lines below the last row are left out. */
  draw(lines: readonly string[]): void {
    if (!this.isOpen) return
    const { columns = DEFAULT_COLUMNS, rows = DEFAULT_ROWS } = this.terminal.output
    const shown = lines
      .slice(0, rows)
      .map((line) => `${maskControls(line).replaceAll('\n', '?').slice(0, columns)}\x1b[K`)
    this.terminal.output.write(`\x1b[?2026h\x1b[H${shown.join('\r\n')}\x1b[J\x1b[?2026l`)
  }

  close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    const { input, output } = this.terminal
    output.write(LEAVE)
    input.off('data', this.readKey)
    input.setRawMode?.(false)
    input.pause()
    output.off('resize', this.keys.onResize)
    process.off('exit', this.restore)
    for (const signal of signals) process.off(signal, this.endBySignal)
  }
}
