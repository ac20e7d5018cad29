/**
 * Reads what the sender of a message says about TLS on its way (RFC 8689): `yes` is the parameter REQUIRETLS of MAIL,
 * `no` the header field `TLS-Required: No`. The parameter goes before the field.
 */
export type TlsRequired = 'yes' | 'no'
