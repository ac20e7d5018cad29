/** Where in the dialogue a reply or failure fell. `message`: the answer to the final dot. */
export type Stage = 'connect' | 'banner' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'message'
