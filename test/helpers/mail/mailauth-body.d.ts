/** mailauth's hashes of a body, as far as tests observe them. */
declare module 'mailauth/lib/dkim/body/relaxed.js' {
  export class RelaxedHash {
    constructor(algorithm: string)
    update(chunk: Buffer | null, isLast?: boolean): void
    digest(encoding: 'base64'): string
  }
}

declare module 'mailauth/lib/dkim/body/simple.js' {
  export class SimpleHash {
    constructor(algorithm: string)
    update(chunk: Buffer | null): void
    digest(encoding: 'base64'): string
  }
}
