/**
 * The media type with which an attachment is downloaded: one that browsers show or save and never execute, else
 * `application/octet-stream`. Pure.
 */

const UNKNOWN_TYPE = 'application/octet-stream'

/** `+xml` types are not among them, because browsers execute them, nor are types that browsers sniff. */
const inertTypes =
  /^(?:audio\/[\w.-]+|video\/[\w.-]+|image\/(?:png|jpeg|gif|webp|avif|bmp|tiff|heic)|text\/(?:plain|csv|calendar)|message\/rfc822|application\/(?:pdf|zip|gzip|json|rtf|msword|pkcs7-signature|pgp-signature|ms-tnef|vnd\.[\w.-]+))$/

export function downloadTypeOf(declared: string): string {
  return inertTypes.test(declared) ? declared : UNKNOWN_TYPE
}
