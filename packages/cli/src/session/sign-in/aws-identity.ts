import aws4 from 'aws4'

/**
 * The token of an AWS identity: a GetCallerIdentity request to Amazon's token service, signed (Signature Version 4) but not sent. The
 * token service of Berth sends it. The signature covers the audience and the identity to assume.
 */

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Only of temporary credentials. */
  readonly sessionToken?: string
}

/** Amazon's token service that the request is for; the server must be configured for the same. */
export interface AwsService {
  readonly host: string
  readonly region: string
}

const GLOBAL_SERVICE: AwsService = { host: 'sts.amazonaws.com', region: 'us-east-1' }
const PATH = '/?Action=GetCallerIdentity&Version=2011-06-15'

export function signCallerIdentity(
  credentials: AwsCredentials,
  issuer: string,
  identity: string,
  { host, region } = GLOBAL_SERVICE,
): string {
  const { headers = {} } = aws4.sign(
    {
      method: 'POST',
      path: PATH,
      service: 'sts',
      region,
      headers: {
        Host: host,
        Accept: 'application/json',
        'Chainguard-Audience': issuer,
        'Chainguard-Identity': identity,
      },
    },
    credentials,
  )
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `POST ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n`
  // Base64url with padding, as in the public contract.
  return Buffer.from(request, 'latin1').toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}
