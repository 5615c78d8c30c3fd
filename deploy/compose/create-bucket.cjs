// Creates the bucket for images, if it does not exist. Runs in the image of Berth, next to its libraries.
const { CreateBucketCommand, HeadBucketCommand, S3Client } = require('@aws-sdk/client-s3')

const {
  BERTH_BLOBS_S3_BUCKET: Bucket,
  BERTH_BLOBS_S3_ENDPOINT: endpoint,
  ROOT_ACCESS_KEY: accessKeyId,
  ROOT_SECRET_KEY: secretAccessKey,
} = process.env
const credentials = { accessKeyId, secretAccessKey }
const client = new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true })

async function createBucket() {
  try {
    await client.send(new HeadBucketCommand({ Bucket }))
  } catch (error) {
    if (error.name !== 'NotFound') throw error
    await client.send(new CreateBucketCommand({ Bucket }))
    process.stdout.write(`created ${Bucket}\n`)
  }
}

createBucket().catch((error) => {
  process.stderr.write(`${BERTH_BLOBS_S3_BUCKET} at ${endpoint}: ${error.message || error.name}\n`)
  process.exitCode = 1
})
