/** mailauth's hash of a relaxed body, as far as tests observe it. */
declare module 'mailauth/lib/dkim/body/relaxed.js' {
  export class RelaxedHash {
    update(chunk: Buffer | null, isLast?: boolean): void
  }
}
