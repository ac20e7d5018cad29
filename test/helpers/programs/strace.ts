/**
 * The output of `strace -f`, as calls with the lines on which they began and ended.
 *
 * The tracer sees one event at a time, so the order of its lines is the order of causes: a call that begins because
 * another one has ended stands below the end of that one.
 */
interface SystemCall {
  /** Name and arguments; data that a call reads is there once it has ended. */
  readonly text: string
  readonly begun: number
  readonly ended: number
  readonly result: string
}

/** To be put before a command; writes to `file`. */
export function underStrace(file: string): readonly string[] {
  const calls = 'trace=read,write,writev,pwrite64,fdatasync,fsync'
  return ['strace', '-f', '--seccomp-bpf', '-qq', '-yy', '-s', '5000', '-e', calls, '-o', file]
}

export function systemCalls(trace: string): readonly SystemCall[] {
  const open = new Map<string, { readonly text: string; readonly begun: number }>()
  return trace.split('\n').flatMap((line, at) => {
    const [, thread = '', said = ''] = /^(\d+) +(.*)$/s.exec(line) ?? []
    const unfinished = / <unfinished \.\.\.>$/.exec(said)
    if (unfinished !== null) {
      open.set(thread, { text: said.slice(0, unfinished.index), begun: at })
      return []
    }
    const resumed = /^<\.\.\. \w+ resumed>/.exec(said)
    const before = resumed === null ? { text: '', begun: at } : open.get(thread)
    const whole = (before?.text ?? '') + said.slice(resumed?.[0].length ?? 0)
    const result = / = (-?\d+.*)$/.exec(whole)?.[1]
    return result === undefined ? [] : [{ text: whole, begun: before?.begun ?? at, ended: at, result }]
  })
}
