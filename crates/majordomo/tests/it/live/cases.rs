//! The requests to each provider.

use majordomo::fake::picture;
use majordomo::llm::Json;
use majordomo::{
    Chain, Error, ErrorKind, ImageRequest, Part, Registry, Request, Result, StreamItem, Tool,
    ToolChoice,
};

use super::providers::LiveProvider;

/// One capability.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LiveCase {
    Chat,
    Stream,
    ToolCall,
    Schema,
    ImageIn,
    Failover,
    ImageOut,
    Embedding,
}

pub(super) const CASES: [LiveCase; 8] = [
    LiveCase::Chat,
    LiveCase::Stream,
    LiveCase::ToolCall,
    LiveCase::Schema,
    LiveCase::ImageIn,
    LiveCase::Failover,
    LiveCase::ImageOut,
    LiveCase::Embedding,
];

impl LiveCase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Stream => "stream",
            Self::ToolCall => "tool call",
            Self::Schema => "schema",
            Self::ImageIn => "image in",
            Self::Failover => "failover",
            Self::ImageOut => "image out",
            Self::Embedding => "embedding",
        }
    }
}

/// Runs a case; `None` if the provider does not offer it.
pub(super) async fn run_case(
    case: LiveCase,
    provider: &LiveProvider,
    registry: &Registry,
) -> Option<Result<String>> {
    let model = match case {
        LiveCase::ImageOut => provider.image.as_ref()?,
        LiveCase::Embedding => provider.embedding.as_ref()?,
        _ => provider.chat.as_ref()?,
    };
    let target = format!("{}/{model}", provider.name);
    let spec = match case {
        LiveCase::Failover => format!("{}/no-such-model-here,{target}", provider.name),
        _ => target.clone(),
    };
    let chain = match registry.model(&spec) {
        Ok(chain) => chain,
        Err(error) => return Some(Err(error.into())),
    };
    Some(match case {
        LiveCase::Chat => chat(&chain).await,
        LiveCase::Stream => stream(&chain).await,
        LiveCase::ToolCall => tool_call(&chain).await,
        LiveCase::Schema => schema(&chain).await,
        LiveCase::ImageIn => image_in(&chain).await,
        LiveCase::Failover => failover(&chain, &target).await,
        LiveCase::ImageOut => image_out(&chain).await,
        LiveCase::Embedding => embedding(&chain).await,
    })
}

/// A short question. The limit leaves room for a model that thinks first.
fn question(text: &str) -> Request {
    Request::user(text).max_tokens(800)
}

fn check(holds: bool, otherwise: impl Into<String>) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::BadResponse, otherwise.into())),
    }
}

async fn chat(chain: &Chain) -> Result<String> {
    let reply = chain.generate(question("Say the word pear.")).await?;
    let text = reply.text();
    check(text.to_lowercase().contains("pear"), &*text)?;
    check(reply.usage.output > 0, "no usage was reported")?;
    Ok(format!("{} tokens", reply.usage.total()))
}

async fn stream(chain: &Chain) -> Result<String> {
    let mut stream = chain.stream(question("Say the word pear.")).await?;
    let (mut text, mut deltas) = (String::new(), 0);
    while let Some(item) = stream.next().await {
        if let StreamItem::Text(delta) = item? {
            text.push_str(&delta);
            deltas += 1;
        }
    }
    check(text.to_lowercase().contains("pear"), text)?;
    Ok(format!("{deltas} deltas"))
}

async fn tool_call(chain: &Chain) -> Result<String> {
    let parameters = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}"#;
    let parameters = Json::from_validated(parameters);
    let tool = Tool::new("weather").description("The weather of a city.");
    let tool = tool.parameters(parameters);
    let request = question("What is the weather in Oslo? Use the tool.");
    let request = request.tool(tool).tool_choice(ToolChoice::Auto);
    let reply = chain.generate(request).await?;
    let call = reply.tool_calls().next().cloned();
    let Some(call) = call.filter(|call| call.name == "weather") else {
        return Err(Error::new(ErrorKind::BadResponse, "no tool was called"));
    };
    check(call.arguments.contains("Oslo"), &*call.arguments)?;
    Ok(call.arguments)
}

async fn schema(chain: &Chain) -> Result<String> {
    let schema = r#"{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false}"#;
    let request = question("Ada is 36 years old.").schema(Json::from_validated(schema), "person");
    let reply = chain.generate(request).await?;
    let text = reply.text();
    let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    check(value.is_some_and(|value| value["age"] == 36), &*text)?;
    Ok(text)
}

async fn image_in(chain: &Chain) -> Result<String> {
    let request = question("Is this a picture? Say yes or no.");
    let reply = chain
        .generate(request.part(Part::Image(picture(7, 96, 96))))
        .await?;
    check(!reply.is_empty(), "an empty reply")?;
    Ok(reply.text().trim().to_owned())
}

async fn failover(chain: &Chain, target: &str) -> Result<String> {
    let reply = chain.generate(question("Say the word pear.")).await?;
    check(reply.model == target, &*reply.model)?;
    let first = reply.attempt_log.attempts.first();
    Ok(first.map(ToString::to_string).unwrap_or_default())
}

async fn image_out(chain: &Chain) -> Result<String> {
    let drawn = chain
        .generate_images(ImageRequest::new("a red apple"))
        .await?;
    let image = drawn.images.first();
    let header = image.and_then(|image| image.data.header().ok());
    let Some(header) = header else {
        return Err(Error::new(ErrorKind::BadResponse, "no readable image"));
    };
    Ok(format!("{}x{}", header.width, header.height))
}

async fn embedding(chain: &Chain) -> Result<String> {
    let embedded = chain.embed(["a red apple", "a green pear"]).await?;
    check(embedded.vectors[0] != embedded.vectors[1], "equal vectors")?;
    Ok(format!("{} dimensions", embedded.dimension()))
}
