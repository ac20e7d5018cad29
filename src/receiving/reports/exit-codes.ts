/** What a local mailer's exit code means, as `X-Unix; 67` in a Diagnostic-Code: names of sysexits.h. */
const exitMeanings: Readonly<Record<string, string>> = {
  '64': 'command line syntax error',
  '67': 'user unknown',
  '68': 'host unknown',
  '69': 'service unavailable',
  '70': 'internal software error',
  '71': 'operating system error',
  '73': 'cannot create output file',
  '74': 'input/output error',
  '75': 'temporary failure, try again later',
  '77': 'permission denied',
  '78': 'configuration error',
}

/** In words, or null: the field holds no exit code. */
export function describeExitCode(diagnosticCode: string): string | null {
  const code = /^\s{0,8}x-unix {0,4}; {0,4}(\d{1,3})\s{0,8}$/i.exec(diagnosticCode)?.[1]
  return code === undefined ? null : (exitMeanings[code] ?? `mailer exited with status ${code}`)
}
